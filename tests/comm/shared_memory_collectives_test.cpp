// Every operation over shared memory, between processes: bitwise equal to the group of threads.
#include <initializer_list>

#include "batches.h"
#include "host_tensor.h"
#include "sanitizers.h"
#include "shared_memory_ranks.h"

namespace halftone {
namespace {

constexpr DType kDTypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2,
                             DType::kI64, DType::kI32, DType::kI16, DType::kI8,   DType::kU8,     DType::kBool};
constexpr int64_t kCounts[] = {0, 1, 7, 1001};
// More than a slice of eight bytes, more than two of four, and odd.
constexpr int64_t kLargeF64 = 150'001;
constexpr int64_t kLarge = 700'001;

// Small numbers, which every dtype has.
HostTensor input_of(DType dtype, int64_t count, int rank) {
  HostTensor tensor(dtype, {count});
  for (int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>((i * 7 + rank * 13 + i / 5) % 11);
    tensor.set(i, is_float(dtype) ? (value - 5) * 0.3 : dtype == DType::kBool ? value > 5 : value);
  }
  return tensor;
}

using Bytes = std::vector<std::byte>;

// Runs operations one after another, and collects the bytes of their results.
class Recorder {
 public:
  explicit Recorder(ProcessGroup& group) : group_(group) {}

  template <class Start>
  void run(const HostTensor& out, Start&& start) {
    const Status status = result_of(start);
    EXPECT_TRUE(status.ok()) << status.message;
    results_.push_back(out.bytes());
  }

  // `part` is the number of elements for each rank where a rank has some for every other.
  void run_all(DType dtype, int64_t count, int64_t part, std::initializer_list<ReduceOp> ops) {
    const int size = group_.size();
    const HostTensor one = input_of(dtype, count, group_.rank());
    const HostTensor all = input_of(dtype, part * size, group_.rank());
    for (ReduceOp op : ops) {
      if (!is_float(dtype) && (op == ReduceOp::kAverage || (op == ReduceOp::kSum && dtype == DType::kBool))) continue;
      reduce(op, one, all);
    }
    const HostTensor gathered(dtype, {count * size});
    run(gathered, [&](Work** w) { return group_.all_gather({}, one.view(), gathered.view(), w); });
    const HostTensor exchanged(dtype, {part * size});
    run(exchanged, [&](Work** w) { return group_.all_to_all({}, all.view(), exchanged.view(), w); });
    for (int root : {0, size - 1}) {
      const HostTensor data = one;
      run(data, [&](Work** w) { return group_.broadcast({}, root, data.view(), w); });
    }
    send_around(one, dtype);
    EXPECT_TRUE(barrier_of(group_).ok());
  }

  ProcessGroup& group() const { return group_; }
  const std::vector<Bytes>& results() const { return results_; }

 private:
  void reduce(ReduceOp op, const HostTensor& one, const HostTensor& all) {
    const HostTensor sum(one.view().dtype, one.view().shape);
    run(sum, [&](Work** w) { return group_.all_reduce({}, op, one.view(), sum.view(), w); });
    const HostTensor in_place = one;
    run(in_place, [&](Work** w) { return group_.all_reduce({}, op, in_place.view(), in_place.view(), w); });
    const HostTensor scattered(all.view().dtype, {all.numel() / group_.size()});
    run(scattered, [&](Work** w) { return group_.reduce_scatter({}, op, all.view(), scattered.view(), w); });
  }

  void send_around(const HostTensor& one, DType dtype) {
    const int size = group_.size();
    const int next = (group_.rank() + 1) % size;
    const int previous = (group_.rank() + size - 1) % size;
    const HostTensor received(dtype, one.view().shape);
    EXPECT_TRUE(result_of([&](Work** w) { return group_.send({}, next, one.view(), w); }).ok());
    run(received, [&](Work** w) { return group_.receive({}, previous, received.view(), w); });
  }

  ProcessGroup& group_;
  std::vector<Bytes> results_;
};

// Runs body(recorder) on each rank of a group of threads, and again on processes that share memory.
void expect_equal_results(int size, const std::function<void(Recorder& recorder)>& body) {
  std::vector<std::vector<Bytes>> expected(static_cast<size_t>(size));
  run_ranks(size, [&](Rank& rank) {
    Recorder recorder(*rank.group);
    body(recorder);
    expected[static_cast<size_t>(rank.number())] = recorder.results();
  });
  SharedRanks ranks(size, [&](Rank& rank) {
    Recorder recorder(*rank.group);
    body(recorder);
    const std::vector<Bytes>& wanted = expected[static_cast<size_t>(rank.number())];
    ASSERT_EQ(recorder.results().size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(recorder.results()[i] == wanted[i]) << "result " << i;
  });
  ranks.expect_success();
}

class SharedMemoryCollectivesTest : public testing::TestWithParam<int> {};

TEST_P(SharedMemoryCollectivesTest, GiveTheBitsOfThreadsForEveryDtype) {
  expect_equal_results(GetParam(), [](Recorder& recorder) {
    for (DType dtype : kDTypes) {
      for (int64_t count : kCounts) {
        recorder.run_all(dtype, count, count, {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax});
      }
    }
  });
}

TEST_P(SharedMemoryCollectivesTest, GiveTheBitsOfThreadsForOperandsLargerThanTheSharedMemory) {
  expect_equal_results(GetParam(), [](Recorder& recorder) {
    recorder.run_all(DType::kF64, kLargeF64, kLargeF64 / recorder.group().size(), {ReduceOp::kSum});
  });
}

// A sanitizer watches one process alone, and learns nothing from more of them.
INSTANTIATE_TEST_SUITE_P(Ranks, SharedMemoryCollectivesTest,
                         testing::ValuesIn(kAnySanitizer ? std::vector<int>{2, 3} : std::vector<int>{2, 3, 4, 8}),
                         testing::PrintToStringParamName());

// Large numbers that cancel show every change of the order.
TEST(SharedMemoryCollectives, SlicesDoNotChangeASum) {
  expect_equal_results(3, [](Recorder& recorder) {
    HostTensor data(DType::kF32, {kLarge});
    uint32_t state = 7 + static_cast<uint32_t>(recorder.group().rank());
    for (int64_t i = 0; i < kLarge; ++i) {
      state = state * 1664525 + 1013904223;
      static_cast<float*>(data.data())[i] = (static_cast<float>(state >> 8) - 0x1p23f) * 16;
    }
    recorder.run(
        data, [&](Work** w) { return recorder.group().all_reduce({}, ReduceOp::kSum, data.view(), data.view(), w); });
  });
}

// Each rank sends to all before it receives, more than the memory holds.
TEST(SharedMemoryCollectives, LargeMessagesCrossBeforeAnybodyReceives) {
  SharedRanks ranks(3, [](Rank& rank) {
    for (int round = 0; round < 3; ++round) {
      for (int peer = 0; peer < 3; ++peer) {
        if (peer == rank.number()) continue;
        std::vector<int32_t> values(kLarge, rank.number() * 10 + round);
        const View view{.data = values.data(), .dtype = DType::kI32, .shape = {kLarge}, .strides = {1}};
        EXPECT_TRUE(result_of([&](Work** w) { return rank.group->send({}, peer, view, w); }).ok());
      }
      for (int peer = 0; peer < 3; ++peer) {
        if (peer == rank.number()) continue;
        std::vector<int32_t> values(kLarge, -1);
        const View view{.data = values.data(), .dtype = DType::kI32, .shape = {kLarge}, .strides = {1}};
        EXPECT_TRUE(result_of([&](Work** w) { return rank.group->receive({}, peer, view, w); }).ok());
        EXPECT_TRUE(values == std::vector<int32_t>(kLarge, peer * 10 + round));
      }
    }
  });
  ranks.expect_success();
}

// The sender is faster, and must not write over what was not read yet.
TEST(SharedMemoryCollectives, ManyMessagesWaitForTheirReceiver) {
  SharedRanks ranks(2, [](Rank& rank) {
    if (rank.number() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (int i = 0; i < 60; ++i) {
      const int64_t count = i % 3 == 2 ? 300'000 : 1'000;
      std::vector<int32_t> values(static_cast<size_t>(count), rank.number() == 0 ? i : -1);
      const View view{.data = values.data(), .dtype = DType::kI32, .shape = {count}, .strides = {1}};
      EXPECT_TRUE(result_of([&](Work** w) {
                    return rank.number() == 0 ? rank.group->send({}, 1, view, w) : rank.group->receive({}, 0, view, w);
                  }).ok());
      ASSERT_TRUE(values == std::vector<int32_t>(values.size(), i)) << i;
    }
  });
  ranks.expect_success();
}

// The first to finish leaves at once. Its data stays where the others read it.
TEST(SharedMemoryCollectives, ARankMayLeaveAfterItsLastOperation) {
  for (int run = 0; run < 10; ++run) {
    SharedRanks ranks(3, [&](Rank& rank) {
      std::vector<float> values(400'000, static_cast<float>(rank.number()));
      const View view{.data = values.data(), .dtype = DType::kF32, .shape = {400'000}, .strides = {1}};
      if (rank.number() == run % 3) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      EXPECT_TRUE(result_of([&](Work** w) { return rank.group->broadcast({}, 1, view, w); }).ok());
      EXPECT_TRUE(values == std::vector<float>(400'000, 1.0f));
    });
    ranks.expect_success();
  }
}

// Together more than the two halves of a segment's data.
TEST(SharedMemoryCollectives, BatchesCrossInAnyOrder) {
  for (const int size : {2, 3, 4}) {
    SharedRanks ranks(size, [](Rank& rank) { expect_crossing_batches(*rank.group, {0, 3, 1001, 100'000}); });
    ranks.expect_success();
  }
}

TEST(SharedMemoryCollectives, TheOtherRanksOfABatchDoNotWaitForEachOther) {
  SharedRanks three(3, [](Rank& rank) { expect_that_peers_do_not_wait_for_each_other(*rank.group); });
  three.expect_success();
  SharedRanks two(2, [](Rank& rank) { expect_that_cuts_may_differ(*rank.group); });
  two.expect_success();
}

TEST(SharedMemoryCollectives, RanksMayBeThreads) {
  run_shared_threads(4, [](Rank& rank) {
    EXPECT_STREQ(rank.group->kind(), "shared_memory");
    for (int i = 0; i < 50; ++i) {
      HostTensor data(DType::kF32, {i * 100});
      for (int64_t j = 0; j < data.numel(); ++j) data.set(j, rank.number() + i);
      EXPECT_TRUE(result_of([&](Work** w) {
                    return rank.group->all_reduce({}, ReduceOp::kSum, data.view(), data.view(), w);
                  }).ok());
      for (int64_t j = 0; j < data.numel(); ++j) ASSERT_EQ(data.get(j), 4 * i + 6);
    }
  });
}

}  // namespace
}  // namespace halftone
