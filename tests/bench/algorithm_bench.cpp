// Times every algorithm of the collectives beside its prediction, among threads of this process:
//   algorithm_bench [--ranks N] [--rounds N]
// Once for groups of the kind "threads", and once over shared memory. In every round each algorithm of an operation
// runs once, in turn, so that other load on the machine affects all alike. A time is the median of the rounds on rank
// 0, from a common start to the end of the operation. A star marks the algorithm that a group would choose.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "comm/collectives/collectives.h"
#include "comm/group/registry.h"
#include "comm/shared_memory/shared_memory_transport.h"
#include "comm/threads/lobby.h"
#include "comm/threads/threads_transport.h"
#include "core/error.h"
#include "runtime/context.h"

namespace halftone {
namespace {

struct Options {
  int ranks = 4;
  int rounds = 51;
};

struct Case {
  const char* name;
  Operation operation;
  int64_t bytes;  // of the operand of one rank
};
constexpr Case kCases[] = {
    {"barrier", Operation::kBarrier, 0},
    {"all_reduce", Operation::kAllReduce, 64},
    {"all_reduce", Operation::kAllReduce, 16 << 10},
    {"all_reduce", Operation::kAllReduce, 4 << 20},
    {"all_gather", Operation::kAllGather, 64},
    {"all_gather", Operation::kAllGather, 1 << 20},
    {"broadcast", Operation::kBroadcast, 64},
    {"broadcast", Operation::kBroadcast, 4 << 20},
};
constexpr Algorithm kAlgorithms[] = {Algorithm::kDirect, Algorithm::kTree, Algorithm::kRing};
constexpr const char* kNames[] = {"direct", "tree", "ring"};

using MakeTransport = std::function<std::unique_ptr<Transport>(const GroupOptions& options)>;

Deadline deadline() { return std::chrono::steady_clock::now() + std::chrono::minutes(1); }

class Rank {
 public:
  Rank(Transport& transport, const Options& options) : collectives_(transport), options_(options) {
    check(collectives_.run({.operation = Operation::kBarrier}, deadline()));
    check(collectives_.link_cost(&cost_));
    is_first_ = transport.rank() == 0;
    if (is_first_)
      std::printf("  a message takes %.1f us, a further one %.1f us, and each byte %.3f ns\n", cost_.message_ns / 1e3,
                  cost_.next_ns / 1e3, cost_.byte_ns);
  }
  ~Rank() { collectives_.finish(deadline()); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void measure(const Case& test) {
    std::vector<double> seconds[std::size(kAlgorithms)];
    for (int round = 0; round <= options_.rounds; ++round) {
      for (const Algorithm algorithm : kAlgorithms) {
        if (std::isinf(predicted(test, algorithm))) continue;
        const double time = time_once(test, algorithm);
        if (round > 0) seconds[static_cast<size_t>(algorithm)].push_back(time);  // the first round warms up
      }
    }
    for (const Algorithm algorithm : kAlgorithms) {
      std::vector<double>& times = seconds[static_cast<size_t>(algorithm)];
      if (is_first_ && !times.empty()) print(test, algorithm, times);
    }
  }

 private:
  double predicted(const Case& test, Algorithm algorithm) const {
    return predicted_ns(test.operation, algorithm, test.bytes, options_.ranks, cost_);
  }

  // A barrier is the common start. Its own time is that of the second of two.
  double time_once(const Case& test, Algorithm algorithm) {
    collectives_.force(Algorithm::kDirect);
    check(collectives_.run({.operation = Operation::kBarrier}, deadline()));
    collectives_.force(algorithm);
    const Stopwatch watch(TimeOf::kWall);
    check(collectives_.run(request(test), deadline()));
    return watch.seconds();
  }

  Request request(const Case& test) {
    if (test.operation == Operation::kBarrier) return {};
    const int64_t count = test.bytes / static_cast<int64_t>(sizeof(float));
    const bool gathers = test.operation == Operation::kAllGather;
    in_.resize(static_cast<size_t>(count));
    out_.resize(static_cast<size_t>(count * (gathers ? options_.ranks : 1)));
    const View in{.data = in_.data(), .dtype = DType::kF32, .shape = {count}, .strides = {1}};
    const View out{.data = out_.data(), .dtype = DType::kF32, .shape = {std::ssize(out_)}, .strides = {1}};
    const bool is_broadcast = test.operation == Operation::kBroadcast;
    return {.operation = test.operation, .in = is_broadcast ? out : in, .out = out};
  }

  void print(const Case& test, Algorithm algorithm, std::vector<double>& times) const {
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    const bool is_chosen = fastest(test.operation, test.bytes, options_.ranks, cost_) == algorithm;
    std::printf("  %-10s %8lld bytes  %-6s %c predicted %10.1f us, measured %10.1f us\n", test.name,
                static_cast<long long>(test.bytes), kNames[static_cast<size_t>(algorithm)], is_chosen ? '*' : ' ',
                predicted(test, algorithm) / 1e3, *middle * 1e6);
  }

  Collectives collectives_;
  const Options options_;
  LinkCost cost_;
  bool is_first_ = false;
  std::vector<float> in_;
  std::vector<float> out_;
};

void run_rank(const Options& options, const GroupOptions& group, const MakeTransport& make) {
  const std::unique_ptr<Transport> transport = make(group);
  {
    Rank rank(*transport, options);
    for (const Case& test : kCases) rank.measure(test);
  }
  transport->leave();
}

void run_kind(const Options& options, const char* kind, const MakeTransport& make) {
  std::printf("%s, %d ranks\n", kind, options.ranks);
  const Ref<Context> context = make_ref<Context>(ContextOptions());
  const OwnedStore store = create_store("memory", *context, {});
  std::vector<std::thread> threads;
  for (int number = 0; number < options.ranks; ++number) {
    threads.emplace_back([&, number] {
      const GroupOptions group{
          .device = context->device("cpu").device, .store = store.get(), .rank = number, .size = options.ranks};
      run_rank(options, group, make);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Options parse(int argc, char** argv) {
  CommandLine line(argc, argv, "algorithm_bench [--ranks N] [--rounds N]");
  Options options;
  options.ranks = line.number("--ranks", options.ranks, 64);
  options.rounds = line.number("--rounds", options.rounds, kMostRounds);
  line.finish();
  return options;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  using namespace halftone;
  const Options options = parse(argc, argv);
  run_kind(options, "threads",
           [](const GroupOptions& group) { return std::make_unique<ThreadsTransport>(join_hub(group), group.rank); });
  run_kind(options, "shared_memory",
           [](const GroupOptions& group) { return std::make_unique<SharedMemoryTransport>(group); });
}
