// Ranks as threads of one process, each with its own context, for the tests of process groups.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/group/registry.h"
#include "core/error.h"

namespace halftone {

inline constexpr int64_t kMillisecond = 1'000'000;

// One rank: a context, and its group over the memory of a device.
struct Rank {
  Ref<Context> context;
  OwnedGroup group;
  std::string place = "cpu";

  int number() const { return group->rank(); }
  ContextDevice& device() const { return context->device(place.c_str()); }
};

inline Ref<Context> make_rank_context() {
  ContextOptions options;
  options.num_threads = 1;
  options.seed = 7;
  return make_ref<Context>(options);
}

// A store for ranks that are threads.
inline OwnedStore create_memory_store() {
  const Ref<Context> context = make_rank_context();
  return create_store("memory", *context, {});
}

// Makes the ranks of a program that runs these tests over another kind of group; null for groups of threads.
using MakeRank = Rank (*)(KeyValueStore* store, int rank, int size, int64_t timeout_ns, const char* name);
inline MakeRank make_other_rank = nullptr;

inline Rank make_rank(KeyValueStore* store, int rank, int size, int64_t timeout_ns = kDefaultGroupTimeoutNs,
                      const char* name = "world") {
  if (make_other_rank != nullptr) return make_other_rank(store, rank, size, timeout_ns, name);
  Rank result{.context = make_rank_context(), .group = nullptr, .place = "cpu"};
  result.group = create_group("threads", *result.context,
                              {.device = result.device().device,
                               .store = store,
                               .name = name,
                               .rank = rank,
                               .size = size,
                               .timeout_ns = timeout_ns});
  return result;
}

// Runs body(rank) on one thread for each rank, and returns when all have ended. All ranks join before the first begins,
// so that none comes to a group which the others have left already. A rank's group goes with its thread.
inline void run_ranks(int size, const std::function<void(Rank& rank)>& body,
                      int64_t timeout_ns = kDefaultGroupTimeoutNs) {
  const OwnedStore store = create_memory_store();
  std::vector<Rank> ranks;
  for (int number = 0; number < size; ++number) ranks.push_back(make_rank(store.get(), number, size, timeout_ns));
  std::vector<std::thread> threads;
  for (Rank& joined : ranks) {
    threads.emplace_back([&] {
      Rank rank = std::move(joined);
      body(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Starts an operation, start(&work), and waits for it. Returns its result, or that of the start.
template <class Start>
Status result_of(Start&& start) {
  Work* started = nullptr;
  const Status status = start(&started);
  const OwnedWork work(started);
  if (!status.ok()) {
    EXPECT_EQ(started, nullptr);
    return status;
  }
  return work->wait();
}

inline Status barrier_of(ProcessGroup& group) {
  return result_of([&](Work** work) { return group.barrier({}, work); });
}

inline bool says(const Status& status, const char* text) {
  return std::string(status.message).find(text) != std::string::npos;
}

}  // namespace halftone
