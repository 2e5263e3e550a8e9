// Ranks of groups over shared memory: as processes, which can be killed, or as threads of one process.
#pragma once

#include <string>
#include <vector>

#include "processes.h"
#include "ranks.h"
#include "temporary_folder.h"

namespace halftone {

inline OwnedStore open_file_store(const std::string& path) {
  const Ref<Context> context = make_rank_context();
  return create_store("file", *context, {.address = path.c_str()});
}

// Waits until all ranks have joined. Throws as create_group.
inline Rank join_shared(KeyValueStore& store, int rank, int size, int64_t timeout_ns = kDefaultGroupTimeoutNs,
                        const char* name = "world") {
  Rank result{.context = make_rank_context(), .group = nullptr};
  const GroupOptions options{.device = result.device().device,
                             .store = &store,
                             .name = name,
                             .rank = rank,
                             .size = size,
                             .timeout_ns = timeout_ns};
  result.group = create_group("shared_memory", *result.context, options);
  return result;
}

// The processes of one group, which find each other through a folder.
class SharedRanks {
 public:
  // Starts `size` processes that run body(rank).
  SharedRanks(int size, std::function<void(Rank& rank)> body, int64_t timeout_ns = kDefaultGroupTimeoutNs) {
    for (int number = 0; number < size; ++number) {
      processes_.emplace_back([&, number] {
        const OwnedStore store = open_file_store(folder());
        Rank rank = join_shared(*store, number, size, timeout_ns);
        body(rank);
      });
    }
  }

  std::string folder() const { return folder_.path("store"); }
  ChildProcess& process(int rank) { return processes_[static_cast<size_t>(rank)]; }
  // Waits for the ends of all but one, which must have met their expectations.
  void expect_success(int all_but = -1) {
    for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
      if (rank == all_but) continue;
      EXPECT_EQ(process(rank).wait(), 0) << "rank " << rank;
    }
  }

 private:
  const TemporaryFolder folder_;
  std::vector<ChildProcess> processes_;
};

// Runs body(rank) on one thread for each rank, and returns when all have ended.
inline void run_shared_threads(int size, const std::function<void(Rank& rank)>& body,
                               int64_t timeout_ns = kDefaultGroupTimeoutNs) {
  const OwnedStore store = create_memory_store();
  std::vector<std::thread> threads;
  for (int number = 0; number < size; ++number) {
    threads.emplace_back([&, number] {
      Rank rank = join_shared(*store, number, size, timeout_ns);
      body(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace halftone
