// Every algorithm of an operation gives the bits of the direct one, and finds ranks that disagree, leave or never come.
#include <atomic>
#include <tuple>

#include "recorder.h"
#include "rotation.h"
#include "strict_transport.h"

namespace halftone {
namespace {

constexpr int64_t kUnbounded = INT64_MAX;
constexpr int64_t kSliceBytes = 256;  // a few elements of each of eight ranks
constexpr int64_t kCounts[] = {0, 1, 7, 333, 5003};

struct Way {
  const char* name;
  Operation operation;
  Algorithm algorithm;
};
constexpr Way kWays[] = {
    {"all_reduce by a tree", Operation::kAllReduce, Algorithm::kTree},
    {"all_gather by a tree", Operation::kAllGather, Algorithm::kTree},
    {"all_gather by a ring", Operation::kAllGather, Algorithm::kRing},
    {"broadcast by a tree", Operation::kBroadcast, Algorithm::kTree},
    {"broadcast by a ring", Operation::kBroadcast, Algorithm::kRing},
    {"barrier by a tree", Operation::kBarrier, Algorithm::kTree},
};

View part(const View& whole, int64_t begin, int64_t count) {
  View view = whole;
  view.data = address_of(whole, begin);
  view.shape = {count};
  view.strides = {1};
  return view;
}

// All results of one rank, as bytes.
using Results = std::vector<std::vector<std::byte>>;

// Runs all_reduce, all_gather and broadcast apart and in place, and collects the results.
class Calls {
 public:
  Calls(StrictRank& rank, DType dtype, int64_t count) : rank_(rank), dtype_(dtype), count_(count) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
      if (op == ReduceOp::kMax || dtype != DType::kBool) reduce(op);
    }
    gather();
    for (int root = 0; root < rank.size; ++root) {
      const HostTensor data = input();
      run({.operation = Operation::kBroadcast, .peer = root, .in = data.view(), .out = data.view()}, data);
    }
    EXPECT_TRUE(rank.run({.operation = Operation::kBarrier}).ok());
  }
  Results take() { return std::move(results_); }

 private:
  HostTensor input() const { return input_of(dtype_, count_, rank_.number); }

  void reduce(ReduceOp op) {
    const HostTensor in = input();
    const HostTensor out(dtype_, {count_});
    run({.operation = Operation::kAllReduce, .reduce_op = op, .in = in.view(), .out = out.view()}, out);
    run({.operation = Operation::kAllReduce, .reduce_op = op, .in = in.view(), .out = in.view()}, in);
  }

  void gather() {
    const HostTensor in = input();
    const HostTensor out(dtype_, {count_ * rank_.size});
    run({.operation = Operation::kAllGather, .in = in.view(), .out = out.view()}, out);
    HostTensor both(dtype_, {count_ * rank_.size});
    for (int64_t i = 0; i < count_; ++i) both.set(rank_.number * count_ + i, in.get(i));
    const View own = part(both.view(), rank_.number * count_, count_);
    run({.operation = Operation::kAllGather, .in = own, .out = both.view()}, both);
  }

  void run(const Request& request, const HostTensor& result) {
    const Status status = rank_.run(request);
    EXPECT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(result.guards_hold());
    results_.push_back(result.bytes());
  }

  StrictRank& rank_;
  const DType dtype_;
  const int64_t count_;
  Results results_;
};

std::vector<Results> results_of(int size, Algorithm algorithm, int64_t slice_bytes, DType dtype, int64_t count) {
  std::vector<Results> results(static_cast<size_t>(size));
  run_strict_ranks(
      size, [&](int) { return algorithm; }, slice_bytes,
      [&](StrictRank& rank) { results[static_cast<size_t>(rank.number)] = Calls(rank, dtype, count).take(); });
  return results;
}

class AlgorithmTest : public testing::TestWithParam<std::tuple<int, DType>> {
 protected:
  int size() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  // A large tensor adds nothing for the dtypes that share its code.
  std::vector<int64_t> counts() const {
    const bool is_full = dtype() == DType::kF32 || dtype() == DType::kBF16;
    const std::vector<int64_t> counts(std::begin(kCounts), std::end(kCounts) - (is_full ? 0 : 1));
    return rotation_of_this_test().sample(counts, 2);
  }
};

TEST_P(AlgorithmTest, GivesTheBitsOfTheDirectOne) {
  for (const int64_t count : counts()) {
    const std::vector<Results> expected = results_of(size(), Algorithm::kDirect, kUnbounded, dtype(), count);
    for (const Algorithm algorithm : {Algorithm::kTree, Algorithm::kRing}) {
      const std::vector<Results> actual = results_of(size(), algorithm, kUnbounded, dtype(), count);
      EXPECT_TRUE(actual == expected) << count << " by " << static_cast<int>(algorithm);
    }
  }
}

TEST_P(AlgorithmTest, GivesTheBitsOfTheDirectOneInSlices) {
  const int64_t count = 333;
  const std::vector<Results> expected = results_of(size(), Algorithm::kDirect, kUnbounded, dtype(), count);
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kTree, Algorithm::kRing}) {
    const std::vector<Results> actual = results_of(size(), algorithm, kSliceBytes, dtype(), count);
    EXPECT_TRUE(actual == expected) << static_cast<int>(algorithm);
  }
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<int, DType>>& info) {
  return std::string(name_of(std::get<1>(info.param))) + "_on_" + std::to_string(std::get<0>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Ranks, AlgorithmTest,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 8),
                                          testing::Values(DType::kF64, DType::kF32, DType::kF16, DType::kBF16,
                                                          DType::kF8E4M3, DType::kF8E5M2, DType::kI64, DType::kI32,
                                                          DType::kI16, DType::kI8, DType::kU8, DType::kBool)),
                         name_of_case);

// The memory of one call: large enough for every operation.
struct Operands {
  Operands(int64_t count, int size) : in(DType::kF32, {count}), out(DType::kF32, {count * size}) {}

  Request request(Operation operation, int root = 0) const {
    const bool gathers = operation == Operation::kAllGather;
    if (operation == Operation::kBarrier) return {.operation = operation};
    return {.operation = operation, .peer = root, .in = in.view(), .out = gathers ? out.view() : in.view()};
  }

  HostTensor in;
  HostTensor out;
};

constexpr int kRanks = 5;
constexpr int64_t kLong = 60'000 * kMillisecond;  // a test that waits for this deadline has failed
constexpr std::chrono::seconds kBound{20};        // far from kLong, and long enough for a busy machine

// Calls of kRanks ranks that must fail on all of them with the code, for each way and with each rank as the culprit.
// `warms_up`: after an operation that succeeds. call(rank, way, is_culprit) may return OK for a rank that is not there.
void expect_failures(Code code, bool warms_up, const std::vector<const char*>& texts,
                     const std::function<Status(StrictRank& rank, const Way& way, bool is_culprit)>& call) {
  for (const Way& way : kWays) {
    for (int culprit = 0; culprit < kRanks; ++culprit) {
      const auto start = std::chrono::steady_clock::now();
      run_strict_ranks(
          kRanks, [&](int) { return way.algorithm; }, kUnbounded,
          [&](StrictRank& rank) {
            if (warms_up) {
              EXPECT_TRUE(rank.run({.operation = Operation::kBarrier}).ok());
            }
            const Status status = call(rank, way, rank.number == culprit);
            if (status.ok() && rank.number == culprit) return;
            EXPECT_EQ(status.code, code) << way.name << ", rank " << rank.number << ": " << status.message;
            for (const char* text : texts) EXPECT_TRUE(says(status, text)) << way.name << ": " << status.message;
          });
      EXPECT_LT(std::chrono::steady_clock::now() - start, kBound) << way.name;
    }
  }
}

TEST(Algorithms, ARankWithAnotherCountOrOperationFailsAll) {
  for (const bool warms_up : {false, true}) {
    expect_failures(
        Code::kComm, warms_up, {"rank ", " called "}, [](StrictRank& rank, const Way& way, bool is_culprit) {
          const Operands operands(is_culprit ? 9 : 3, rank.size);
          const bool is_barrier = way.operation == Operation::kBarrier;
          const Status status =
              rank.run(operands.request(is_barrier && is_culprit ? Operation::kBroadcast : way.operation));
          EXPECT_TRUE(is_barrier || (says(status, "of 3 f32") && says(status, "of 9 f32"))) << status.message;
          return status;
        });
  }
}

TEST(Algorithms, ARankWithAnotherRootFailsAll) {
  for (const Algorithm algorithm : {Algorithm::kTree, Algorithm::kRing}) {
    for (int culprit = 0; culprit < kRanks; ++culprit) {
      run_strict_ranks(
          kRanks, [&](int) { return algorithm; }, kUnbounded,
          [&](StrictRank& rank) {
            EXPECT_TRUE(rank.run({.operation = Operation::kBarrier}).ok());
            const Operands operands(100, rank.size);
            const Status status = rank.run(operands.request(Operation::kBroadcast, rank.number == culprit ? 2 : 4));
            EXPECT_EQ(status.code, Code::kComm) << status.message;
            EXPECT_TRUE(says(status, "from rank 2") && says(status, "from rank 4")) << status.message;
          });
    }
  }
}

// Operands of different sizes may lead to different algorithms.
TEST(Algorithms, RanksThatDisagreeAndChooseDifferentlyFail) {
  for (const Algorithm first : {Algorithm::kDirect, Algorithm::kTree, Algorithm::kRing}) {
    for (const Algorithm second : {Algorithm::kDirect, Algorithm::kTree, Algorithm::kRing}) {
      for (unsigned culprits = 1; culprits < 15; ++culprits) {
        const auto is_culprit = [&](int rank) { return (culprits >> rank & 1) != 0; };
        run_strict_ranks(
            4, [&](int rank) { return is_culprit(rank) ? second : first; }, kUnbounded,
            [&](StrictRank& rank) {
              const Operands operands(8, rank.size);
              EXPECT_TRUE(rank.run({.operation = Operation::kReduceScatter,
                                    .in = part(operands.in.view(), 0, 4),
                                    .out = part(operands.out.view(), 0, 1)})
                              .ok());
              const Operands others(is_culprit(rank.number) ? 5 : 4, rank.size);
              const Status status = rank.run(others.request(Operation::kBroadcast), kLong);
              EXPECT_EQ(status.code, Code::kComm) << culprits << ": " << status.message;
            });
      }
    }
  }
}

TEST(Algorithms, ARankThatLeavesIsLostToAllOthers) {
  for (const bool warms_up : {false, true}) {
    expect_failures(Code::kPeerLost, warms_up, {" left the group"},
                    [](StrictRank& rank, const Way& way, bool is_culprit) {
                      if (is_culprit) return Status();
                      const Operands operands(1000, rank.size);
                      return rank.run(operands.request(way.operation), kLong);
                    });
  }
}

TEST(Algorithms, ARankThatNeverComesIsATimeoutForAllOthers) {
  for (const bool warms_up : {false, true}) {
    std::atomic<int> ended{0};
    expect_failures(Code::kTimeout, warms_up, {"rank "}, [&](StrictRank& rank, const Way& way, bool is_culprit) {
      if (is_culprit) {
        while (ended < kRanks - 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ended = 0;
        return Status();
      }
      const Operands operands(1000, rank.size);
      const Status status = rank.run(operands.request(way.operation), 10 * kMillisecond);
      ++ended;
      return status;
    });
  }
}

// Ranks that leave while others read what they have sent must not take the memory away.
TEST(Algorithms, RanksMayLeaveAfterTheirLastOperation) {
  for (const Way& way : kWays) {
    for (int run = 0; run < 10; ++run) {
      run_strict_ranks(
          kRanks, [&](int) { return way.algorithm; }, kUnbounded,
          [&](StrictRank& rank) {
            const auto operands = std::make_unique<Operands>(500, rank.size);
            if (rank.number == run % kRanks) std::this_thread::sleep_for(std::chrono::microseconds(run * 50));
            const Status status = rank.run(operands->request(way.operation, run % kRanks));
            EXPECT_TRUE(status.ok()) << way.name << ": " << status.message;
          });
    }
  }
}

TEST(LinkCost, IsMeasuredInTheFirstOperationAndEqualOnAllRanks) {
  for (const int size : {1, 2, 3, 8}) {
    std::vector<LinkCost> costs(static_cast<size_t>(size));
    run_ranks(size, [&](Rank& rank) {
      LinkCost cost;
      EXPECT_EQ(rank.group->link_cost(&cost).code, Code::kState);
      EXPECT_TRUE(barrier_of(*rank.group).ok());
      EXPECT_EQ(rank.group->counters().bytes_sent, 0) << "measuring is not counted";
      LinkCost& measured = costs[static_cast<size_t>(rank.number())];
      ASSERT_TRUE(rank.group->link_cost(&measured).ok());
      EXPECT_TRUE(barrier_of(*rank.group).ok());
      ASSERT_TRUE(rank.group->link_cost(&cost).ok());
      EXPECT_EQ(cost.message_ns, measured.message_ns) << "measured once";
    });
    for (const LinkCost& cost : costs) {
      EXPECT_EQ(cost.message_ns, costs[0].message_ns);
      EXPECT_EQ(cost.next_ns, costs[0].next_ns);
      EXPECT_EQ(cost.byte_ns, costs[0].byte_ns);
      EXPECT_LE(cost.next_ns, cost.message_ns);
      EXPECT_EQ(cost.message_ns > 0, size > 1);
      EXPECT_GE(cost.byte_ns, 0);
      EXPECT_EQ(cost.is_shared != 0, size > 1);
    }
  }
}

}  // namespace
}  // namespace halftone
