// The representation of weights without a parameter: copies in other formats, and the versions to which they belong.
#include "autograd/weights/weights.h"

#include "representations.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class WeightsTest : public RoomTest {
 protected:
  // Codes of the weights with one scale, as a recipe keeps them.
  WeightCopy codes_of(const Weights& weights, DType format = DType::kF8E4M3) {
    return {.format = format,
            .data = converted(weights.kept(), format),
            .scales = full(device(), DType::kF32, {1}, 2.0),
            .version = weights.kept().version()};
  }
  static bool is_current(const Weights& weights, DType format) {
    const WeightCopy* copy = weights.copies().find(format);
    return copy != nullptr && copy->version == weights.kept().version();
  }
  int64_t bytes() { return device().allocator->stats().current; }
  Ref<AccumulateGrad> source(const Weights& weights) {
    return make_ref<AccumulateGrad>(device(), weights.kept().shape(), DType::kF32);
  }
};

TEST_F(WeightsTest, ACopyWithScalesIsKeptAndDropped) {
  Weights weights(tensor({2}, {1, 2}));
  const int64_t before = bytes();
  ASSERT_TRUE(weights.copies().keep(codes_of(weights)));
  const WeightCopy* kept = weights.copies().find(DType::kF8E4M3);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(values(kept->data), (std::vector<double>{1, 2}));
  EXPECT_EQ(values(kept->scales), (std::vector<double>{2}));
  EXPECT_GT(bytes(), before);
  weights.copies().drop(DType::kF8E4M3);
  EXPECT_EQ(weights.copies().find(DType::kF8E4M3), nullptr);
  EXPECT_EQ(bytes(), before);
}

// Codes are no values without their scales.
TEST_F(WeightsTest, ACopyWithScalesIsNotReadAsValues) {
  Weights weights(tensor({2}, {1, 2}));
  ASSERT_TRUE(weights.copies().keep(codes_of(weights)));
  EXPECT_FALSE(weights.keeps(DType::kF8E4M3));
  EXPECT_NE(weights.read(DType::kF8E4M3).data(), weights.copies().find(DType::kF8E4M3)->data.data());
}

TEST_F(WeightsTest, ACopyOfAReaderIsCurrentUntilTheWeightsChange) {
  Weights weights(tensor({2}, {1, 2}));
  weights.set_compute(converted(weights.kept(), DType::kBF16));
  ASSERT_TRUE(weights.copies().keep(codes_of(weights)));
  EXPECT_TRUE(is_current(weights, DType::kF8E4M3));
  EXPECT_TRUE(is_current(weights, DType::kBF16));
  weights.mark_updated();
  EXPECT_FALSE(is_current(weights, DType::kF8E4M3));
  EXPECT_FALSE(is_current(weights, DType::kBF16));
  weights.mark_current();
  EXPECT_FALSE(is_current(weights, DType::kF8E4M3)) << "the optimizer did not write it";
  EXPECT_TRUE(is_current(weights, DType::kBF16));
}

TEST_F(WeightsTest, AReaderReplacesItsCopyOfAFormat) {
  Weights weights(tensor({2}, {1, 2}));
  ASSERT_TRUE(weights.copies().keep(codes_of(weights)));
  weights.write(tensor({2}, {3, 4}));
  ASSERT_TRUE(weights.copies().keep(codes_of(weights)));
  EXPECT_EQ(values(weights.copies().find(DType::kF8E4M3)->data), (std::vector<double>{3, 4}));
  EXPECT_TRUE(is_current(weights, DType::kF8E4M3));
  ASSERT_TRUE(weights.copies().keep(codes_of(weights, DType::kF8E5M2)));
  EXPECT_FALSE(weights.copies().keep(codes_of(weights, DType::kF16))) << "more formats than places";
  EXPECT_EQ(weights.copies().find(DType::kF16), nullptr);
  weights.copies().drop(DType::kF8E4M3);
  EXPECT_TRUE(weights.copies().keep(codes_of(weights, DType::kF16)));
}

TEST_F(WeightsTest, TheCopyOfTheOptimizerLeavesThoseOfReaders) {
  Weights weights(tensor({2}, {1, 2}));
  ASSERT_TRUE(weights.copies().keep(codes_of(weights)));
  weights.set_compute(converted(weights.kept(), DType::kBF16));
  weights.set_compute(Tensor());
  EXPECT_EQ(weights.copies().find(DType::kBF16), nullptr);
  EXPECT_TRUE(is_current(weights, DType::kF8E4M3));
}

// The versions of the former tensor say nothing about the new one.
TEST_F(WeightsTest, AnotherRepresentationDropsTheCopiesOfReaders) {
  Weights weights(tensor({2}, {1, 2}));
  ASSERT_TRUE(weights.copies().keep(codes_of(weights)));
  split(weights);
  EXPECT_EQ(weights.copies().find(DType::kF8E4M3), nullptr);
  ASSERT_TRUE(weights.copies().keep(codes_of(weights)));
  split(weights);  // they stay as they are
  EXPECT_TRUE(is_current(weights, DType::kF8E4M3));
  join(weights);
  EXPECT_EQ(weights.copies().find(DType::kF8E4M3), nullptr);
}

TEST_F(WeightsTest, ACurrentCopyWithoutScalesIsReadAndHasOneLeaf) {
  Weights weights(tensor({2}, {1, 2}));
  const Ref<AccumulateGrad> accumulator = source(weights);
  const Tensor copy = converted(weights.kept(), DType::kF16);
  ASSERT_TRUE(
      weights.copies().keep({.format = DType::kF16, .data = copy, .scales = {}, .version = weights.kept().version()}));
  EXPECT_TRUE(weights.keeps(DType::kF16));
  EXPECT_EQ(weights.read(DType::kF16).data(), copy.data());
  const Tensor leaf = weights.leaf(DType::kF16, *accumulator);
  EXPECT_EQ(leaf.data(), copy.data());
  EXPECT_TRUE(weights.leaf(DType::kF16, *accumulator).is_same(leaf));
  fill(weights.kept(), 5);
  EXPECT_FALSE(weights.keeps(DType::kF16));
  EXPECT_EQ(values(weights.leaf(DType::kF16, *accumulator)), (std::vector<double>{5, 5}));
}

TEST_F(WeightsTest, ReadsARangeInEveryDtypeAndRepresentation) {
  const std::vector<double> exact = {0.3f, -0.7f, 1.5, 2.25};
  for (const bool splits : {false, true}) {
    Weights weights(tensor({2, 2}, exact));
    if (splits) split(weights);
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
      const Tensor target = full(device(), dtype, {2}, 0.0);
      const uint64_t version = target.version();
      weights.read_range(1, target);
      EXPECT_EQ(values(target), values(tensor({2}, {exact[1], exact[2]}, dtype))) << name_of(dtype) << splits;
      EXPECT_EQ(target.version(), version);
    }
  }
}

TEST_F(WeightsTest, AWriteToOneRangeLeavesTheVersionOfAnother) {
  const Tensor flat = full(device(), DType::kF32, {4}, 1.0);
  Weights first(flat.as_strided({2}, {1}, 0)), second(flat.as_strided({2}, {1}, 2));
  second.set_compute(converted(second.kept(), DType::kBF16));
  first.write(tensor({2}, {3, 4}));
  EXPECT_TRUE(second.is_current());
  EXPECT_EQ(values(flat), (std::vector<double>{3, 4, 1, 1}));
  fill(flat, 2.0);  // the storage as a whole
  EXPECT_FALSE(second.is_current());
}

}  // namespace
}  // namespace halftone
