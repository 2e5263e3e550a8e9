#include <atomic>
#include <cmath>
#include <string>
#include <tuple>

#include "recorder.h"
#include "rotation.h"

namespace halftone {
namespace {

constexpr int64_t kLarge = 5003;  // more than two blocks of the reduction for each of eight ranks
const int64_t kCounts[] = {0, 1, 7, 1001, kLarge};

// The reference: a plain recursion over a list of values, in FP32 (f64: double).
template <class T>
T tree(ReduceOp op, const std::vector<T>& values) {
  if (values.size() == 1) return values[0];
  size_t half = 1;
  while (half * 2 < values.size()) half *= 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  const T left = tree(op, std::vector<T>(values.begin(), middle));
  const T right = tree(op, std::vector<T>(middle, values.end()));
  if (op == ReduceOp::kMin) return left < right ? left : right;
  if (op == ReduceOp::kMax) return left > right ? left : right;
  return left + right;
}

template <class T>
double reduced(ReduceOp op, const std::vector<double>& values) {
  const T result = tree(op, std::vector<T>(values.begin(), values.end()));
  return static_cast<double>(op == ReduceOp::kAverage ? result / static_cast<T>(values.size()) : result);
}

// The reduction of element i over the inputs, in the inputs' dtype.
HostTensor reference(ReduceOp op, const std::vector<HostTensor>& inputs) {
  HostTensor out(inputs[0].view().dtype, inputs[0].view().shape);
  for (int64_t i = 0; i < out.numel(); ++i) {
    std::vector<double> values;
    for (const HostTensor& input : inputs) values.push_back(input.get(i));
    const bool is_wide = out.view().dtype == DType::kF64 || !is_float(out.view().dtype);
    out.set(i, is_wide ? reduced<double>(op, values) : reduced<float>(op, values));
  }
  return out;
}

std::vector<HostTensor> inputs_of(DType dtype, int64_t count, int size) {
  std::vector<HostTensor> inputs;
  for (int rank = 0; rank < size; ++rank) inputs.push_back(input_of(dtype, count, rank));
  return inputs;
}

bool takes(ReduceOp op, DType dtype) {
  return is_float(dtype) || op == ReduceOp::kMin || op == ReduceOp::kMax ||
         (op == ReduceOp::kSum && dtype != DType::kBool);
}

// Elements [begin, begin + count) of a tensor as a view.
View part(const HostTensor& tensor, int64_t begin, int64_t count) {
  View view = tensor.view();
  view.data = static_cast<std::byte*>(view.data) + begin * static_cast<int64_t>(size_of(view.dtype));
  view.shape = {count};
  view.strides = {1};
  return view;
}

void expect_equal(const HostTensor& expected, const HostTensor& actual, const std::string& what) {
  EXPECT_TRUE(expected.bytes() == actual.bytes()) << what;
}

void expect_all_reduce(ProcessGroup& group, ReduceOp op, const View& in, const View& out) {
  const Status status = result_of([&](Work** w) { return group.all_reduce({}, op, in, out, w); });
  EXPECT_TRUE(status.ok()) << status.message;
}

class CollectivesTest : public testing::TestWithParam<std::tuple<int, DType>> {
 protected:
  int size() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  // A large tensor adds nothing for the dtypes that share its code.
  std::vector<int64_t> counts() const {
    const bool is_full = dtype() == DType::kF32 || dtype() == DType::kBF16;
    const std::vector<int64_t> counts(std::begin(kCounts), std::end(kCounts) - (is_full ? 0 : 1));
    return rotation_of_this_test().sample(counts, 2);
  }
  // Runs body(rank, count) on every rank for every count.
  void for_counts(const std::function<void(Rank& rank, int64_t count)>& body) const {
    run_ranks(size(), [&](Rank& rank) {
      for (int64_t count : counts()) body(rank, count);
    });
  }
};

TEST_P(CollectivesTest, AllReduceAddsInOneTreeAndRoundsOnce) {
  for (int64_t count : counts()) {
    const std::vector<HostTensor> inputs = inputs_of(dtype(), count, size());
    std::vector<std::pair<ReduceOp, HostTensor>> expected;
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax}) {
      if (takes(op, dtype())) expected.emplace_back(op, reference(op, inputs));
    }
    run_ranks(size(), [&](Rank& rank) {
      for (const auto& [op, result] : expected) {
        const HostTensor in = inputs[static_cast<size_t>(rank.number())];
        const HostTensor out(dtype(), {count});
        expect_all_reduce(*rank.group, op, in.view(), out.view());
        EXPECT_TRUE(result.bytes() == out.bytes()) << count;
        expect_all_reduce(*rank.group, op, in.view(), in.view());
        EXPECT_TRUE(result.bytes() == in.bytes()) << count << " in place";
      }
    });
  }
}

TEST_P(CollectivesTest, ReduceScatterKeepsThisRanksPart) {
  for_counts([&](Rank& rank, int64_t count) {
    const HostTensor in = input_of(dtype(), count * size(), rank.number());
    const HostTensor out(dtype(), {count});
    const Status apart =
        result_of([&](Work** w) { return rank.group->reduce_scatter({}, ReduceOp::kMax, in.view(), out.view(), w); });
    EXPECT_TRUE(apart.ok()) << apart.message;
    std::vector<HostTensor> parts;
    for (int peer = 0; peer < size(); ++peer) {
      const HostTensor input = input_of(dtype(), count * size(), peer);
      parts.emplace_back(dtype(), Shape{count});
      for (int64_t i = 0; i < count; ++i) parts.back().set(i, input.get(rank.number() * count + i));
    }
    EXPECT_TRUE(reference(ReduceOp::kMax, parts).bytes() == out.bytes()) << count;
    const View own = part(in, rank.number() * count, count);
    const Status in_place =
        result_of([&](Work** w) { return rank.group->reduce_scatter({}, ReduceOp::kMax, in.view(), own, w); });
    EXPECT_TRUE(in_place.ok()) << in_place.message;
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(in.get(rank.number() * count + i), out.get(i));
  });
}

TEST_P(CollectivesTest, AllGatherPutsTheRanksOneAfterAnother) {
  for_counts([&](Rank& rank, int64_t count) {
    HostTensor expected(dtype(), {count * size()});
    for (int peer = 0; peer < size(); ++peer) {
      const HostTensor input = input_of(dtype(), count, peer);
      for (int64_t i = 0; i < count; ++i) expected.set(peer * count + i, input.get(i));
    }
    const HostTensor in = input_of(dtype(), count, rank.number());
    HostTensor out(dtype(), {count * size()});
    const Status apart = result_of([&](Work** w) { return rank.group->all_gather({}, in.view(), out.view(), w); });
    EXPECT_TRUE(apart.ok()) << apart.message;
    expect_equal(expected, out, std::to_string(count));
    HostTensor both(dtype(), {count * size()});
    for (int64_t i = 0; i < count; ++i) both.set(rank.number() * count + i, in.get(i));
    const View own = part(both, rank.number() * count, count);
    const Status in_place = result_of([&](Work** w) { return rank.group->all_gather({}, own, both.view(), w); });
    EXPECT_TRUE(in_place.ok()) << in_place.message;
    expect_equal(expected, both, std::to_string(count) + " in place");
  });
}

TEST_P(CollectivesTest, BroadcastGivesEveryRankTheRootsData) {
  for_counts([&](Rank& rank, int64_t count) {
    for (int root = 0; root < size(); ++root) {
      const HostTensor data = input_of(dtype(), count, rank.number());
      const Status status = result_of([&](Work** w) { return rank.group->broadcast({}, root, data.view(), w); });
      EXPECT_TRUE(status.ok()) << status.message;
      expect_equal(input_of(dtype(), count, root), data, std::to_string(root));
    }
  });
}

TEST_P(CollectivesTest, AllToAllTransposesTheParts) {
  for_counts([&](Rank& rank, int64_t count) {
    const HostTensor in = input_of(dtype(), count * size(), rank.number());
    const HostTensor out(dtype(), {count * size()});
    const Status status = result_of([&](Work** w) { return rank.group->all_to_all({}, in.view(), out.view(), w); });
    EXPECT_TRUE(status.ok()) << status.message;
    for (int peer = 0; peer < size(); ++peer) {
      const HostTensor sent = input_of(dtype(), count * size(), peer);
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(out.get(peer * count + i), sent.get(rank.number() * count + i));
      }
    }
    EXPECT_TRUE(out.guards_hold());
  });
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<int, DType>>& info) {
  return std::string(name_of(std::get<1>(info.param))) + "_on_" + std::to_string(std::get<0>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Ranks, CollectivesTest,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8),
                                          testing::Values(DType::kF64, DType::kF32, DType::kF16, DType::kBF16,
                                                          DType::kF8E4M3, DType::kF8E5M2, DType::kI64, DType::kI32,
                                                          DType::kI16, DType::kI8, DType::kU8, DType::kBool)),
                         name_of_case);

TEST(Collectives, MegabytesAreReduced) {
  constexpr int64_t kCount = 1 << 19;
  run_ranks(4, [](Rank& rank) {
    std::vector<float> values(kCount);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) + 1000.0f * rank.number();
    const View view{.data = values.data(), .dtype = DType::kF32, .shape = {kCount}, .strides = {1}};
    expect_all_reduce(*rank.group, ReduceOp::kSum, view, view);
    size_t wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) wrong += values[i] != 4 * static_cast<float>(i % 1000) + 6000;
    EXPECT_EQ(wrong, 0u);
  });
}

// Large numbers that cancel show every change of the order.
TEST(Collectives, TheSumsOfEveryRunAreBitwiseEqual) {
  constexpr int kRanks = 8;
  constexpr int64_t kCount = 999;
  std::vector<HostTensor> results(kRanks, HostTensor(DType::kF32, {kCount}));
  std::vector<std::byte> first;
  for (int run = 0; run < 5; ++run) {
    run_ranks(kRanks, [&](Rank& rank) {
      HostTensor in(DType::kF32, {kCount});
      in.fill_uniform(-1e8, 1e8, static_cast<uint32_t>(rank.number()));
      std::this_thread::sleep_for(std::chrono::milliseconds((rank.number() * 3 + run) % 5));
      const View out = results[static_cast<size_t>(rank.number())].view();
      EXPECT_TRUE(
          result_of([&](Work** w) { return rank.group->all_reduce({}, ReduceOp::kSum, in.view(), out, w); }).ok());
    });
    if (run == 0) first = results[0].bytes();
    for (const HostTensor& result : results) EXPECT_TRUE(result.bytes() == first) << run;
  }
}

// The sum of two ranks comes before the third. In FP32 1 is lost beside 1e8.
TEST(Collectives, TheThirdRankIsAddedToTheSumOfTheOthers) {
  run_ranks(3, [](Rank& rank) {
    HostTensor data(DType::kF32, {1});
    data.set(0, rank.number() == 2 ? 1 : rank.number() == 1 ? -1e8 : 1e8);
    EXPECT_TRUE(result_of([&](Work** w) {
                  return rank.group->all_reduce({}, ReduceOp::kSum, data.view(), data.view(), w);
                }).ok());
    EXPECT_EQ(data.get(0), 1);
  });
}

// 2048 + 1 is 2048 in FP16. A sum that rounds to FP16 at each rank would lose every 1.
TEST(Collectives, SixteenBitSumsRoundOnce) {
  run_ranks(4, [](Rank& rank) {
    HostTensor data(DType::kF16, {1});
    data.set(0, rank.number() == 0 ? 2048 : 1);
    EXPECT_TRUE(result_of([&](Work** w) {
                  return rank.group->all_reduce({}, ReduceOp::kSum, data.view(), data.view(), w);
                }).ok());
    EXPECT_EQ(data.get(0), 2052);  // 2051 is a tie between 2050 and 2052
  });
}

TEST(Collectives, ANanOfAnyRankWins) {
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax}) {
    for (int culprit = 0; culprit < 3; ++culprit) {
      run_ranks(3, [&](Rank& rank) {
        HostTensor data(DType::kF32, {4});
        for (int64_t i = 0; i < 4; ++i) data.set(i, rank.number() == culprit ? std::nan("") : 1);
        EXPECT_TRUE(
            result_of([&](Work** w) { return rank.group->all_reduce({}, op, data.view(), data.view(), w); }).ok());
        for (int64_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(data.get(i)));
      });
    }
  }
}

TEST(Collectives, IntegerSumsWrapAround) {
  run_ranks(2, [](Rank& rank) {
    HostTensor bytes(DType::kU8, {1});
    bytes.set(0, 200);
    EXPECT_TRUE(result_of([&](Work** w) {
                  return rank.group->all_reduce({}, ReduceOp::kSum, bytes.view(), bytes.view(), w);
                }).ok());
    EXPECT_EQ(bytes.get(0), 144);
    HostTensor wide(DType::kI64, {1});
    *static_cast<int64_t*>(wide.data()) = INT64_MAX;
    EXPECT_TRUE(result_of([&](Work** w) {
                  return rank.group->all_reduce({}, ReduceOp::kSum, wide.view(), wide.view(), w);
                }).ok());
    EXPECT_EQ(*static_cast<int64_t*>(wide.data()), -2);
  });
}

TEST(Collectives, ManyMayBeUnderWay) {
  constexpr int kOperations = 200;
  run_ranks(4, [](Rank& rank) {
    std::vector<HostTensor> tensors(kOperations, HostTensor(DType::kF32, {17}));
    std::vector<OwnedWork> works;
    for (int i = 0; i < kOperations; ++i) {
      for (int64_t j = 0; j < 17; ++j) tensors[static_cast<size_t>(i)].set(j, i + rank.number());
      const View view = tensors[static_cast<size_t>(i)].view();
      Work* work = nullptr;
      ASSERT_TRUE(rank.group->all_reduce({.hash = static_cast<uint64_t>(i)}, ReduceOp::kSum, view, view, &work).ok());
      works.emplace_back(work);
    }
    Stream& stream = rank.device().device->stream();
    for (int i = 0; i < kOperations; ++i) {
      ASSERT_TRUE(works[static_cast<size_t>(i)]->wait_on(stream).ok());
      EXPECT_TRUE(works[static_cast<size_t>(i)]->is_done());
      EXPECT_EQ(tensors[static_cast<size_t>(i)].get(16), 4 * i + 6);
    }
  });
}

TEST(Collectives, ABarrierWaitsForTheLastRank) {
  std::atomic<int> arrived{0};
  run_ranks(4, [&](Rank& rank) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * rank.number()));
    ++arrived;
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    EXPECT_EQ(arrived, 4);
  });
}

TEST(Collectives, OperandsAreChecked) {
  run_ranks(2, [](Rank& rank) {
    ProcessGroup& group = *rank.group;
    const HostTensor floats(DType::kF32, {8});
    const HostTensor others(DType::kF32, {8});
    const HostTensor few(DType::kF32, {3});
    const HostTensor ints(DType::kI32, {8});
    const HostTensor bools(DType::kBool, {8});
    const HostTensor gaps(DType::kF32, {4}, {2});
    const auto code = [&](ReduceOp op, const View& in, const View& out) {
      return result_of([&](Work** w) { return group.all_reduce({}, op, in, out, w); }).code;
    };
    EXPECT_EQ(code(ReduceOp::kSum, floats.view(), ints.view()), Code::kDtypeMismatch);
    EXPECT_EQ(code(ReduceOp::kAverage, ints.view(), ints.view()), Code::kDtypeMismatch);
    EXPECT_EQ(code(ReduceOp::kSum, bools.view(), bools.view()), Code::kDtypeMismatch);
    EXPECT_EQ(code(static_cast<ReduceOp>(9), floats.view(), floats.view()), Code::kInvalidArgument);
    EXPECT_EQ(code(ReduceOp::kSum, floats.view(), few.view()), Code::kShapeMismatch);
    EXPECT_EQ(code(ReduceOp::kSum, gaps.view(), gaps.view()), Code::kInvalidArgument);
    EXPECT_EQ(code(ReduceOp::kSum, part(floats, 0, 5), part(floats, 2, 5)), Code::kInvalidArgument);
    EXPECT_EQ(result_of([&](Work** w) { return group.all_gather({}, floats.view(), others.view(), w); }).code,
              Code::kShapeMismatch);
    EXPECT_EQ(result_of([&](Work** w) {
                return group.reduce_scatter({}, ReduceOp::kSum, few.view(), floats.view(), w);
              }).code,
              Code::kShapeMismatch);
    EXPECT_EQ(result_of([&](Work** w) { return group.broadcast({}, 2, floats.view(), w); }).code,
              Code::kInvalidArgument);
    EXPECT_EQ(result_of([&](Work** w) { return group.all_to_all({}, few.view(), few.view(), w); }).code,
              Code::kShapeMismatch);
    EXPECT_EQ(result_of([&](Work** w) { return group.all_to_all({}, floats.view(), floats.view(), w); }).code,
              Code::kInvalidArgument);
    EXPECT_TRUE(barrier_of(group).ok()) << "a refused call must not disturb the group";
  });
}

}  // namespace
}  // namespace halftone
