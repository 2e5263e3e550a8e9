// The representation of weights without a parameter: copies in other formats, and the versions to which they belong.
#include "autograd/weights/weights.h"

#include "autograd/weights/weight_codes.h"
#include "representations.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class WeightsTest : public RoomTest {
 protected:
  static constexpr uint64_t kForward = 1, kBackward = 2;

  // Codes of the weights with one scale, as a recipe keeps them.
  void keep_codes(const Weights& weights, uint64_t key = kForward) {
    weights.codes().keep({.key = key,
                          .version = weights.kept().version(),
                          .codes = converted(weights.kept(), DType::kF8E4M3),
                          .scales = full(device(), DType::kF32, {1}, 2.0)});
  }
  static WeightCodes codes_of(const Weights& weights, uint64_t key = kForward) {
    return weights.codes().find(key, weights.kept().version());
  }
  static bool has_codes(const Weights& weights, uint64_t key = kForward) {
    return codes_of(weights, key).codes.defined();
  }
  int64_t bytes() { return device().allocator->stats().current; }
  Ref<AccumulateGrad> source(const Weights& weights) {
    return make_ref<AccumulateGrad>(device(), weights.kept().shape(), DType::kF32);
  }
};

TEST_F(WeightsTest, CodesAreKeptByKeyAndReleased) {
  const Weights weights(tensor({2}, {1, 2}));
  const int64_t before = bytes();
  keep_codes(weights);
  EXPECT_EQ(values(codes_of(weights).codes), (std::vector<double>{1, 2}));
  EXPECT_EQ(values(codes_of(weights).scales), (std::vector<double>{2}));
  EXPECT_FALSE(has_codes(weights, kBackward));
  EXPECT_GT(bytes(), before);
  weights.codes().clear();
  EXPECT_FALSE(has_codes(weights));
  EXPECT_EQ(bytes(), before);
}

// Codes are no values without their scales.
TEST_F(WeightsTest, CodesAreNotReadAsValues) {
  const Weights weights(tensor({2}, {1, 2}));
  keep_codes(weights);
  EXPECT_FALSE(weights.keeps(DType::kF8E4M3));
  EXPECT_NE(weights.read(DType::kF8E4M3).data(), codes_of(weights).codes.data());
}

TEST_F(WeightsTest, CodesAreCurrentUntilTheWeightsChange) {
  Weights weights(tensor({2}, {1, 2}));
  weights.set_compute(converted(weights.kept(), DType::kBF16));
  keep_codes(weights);
  EXPECT_TRUE(has_codes(weights));
  EXPECT_TRUE(weights.keeps(DType::kBF16));
  weights.mark_updated();
  EXPECT_FALSE(has_codes(weights));
  EXPECT_FALSE(weights.keeps(DType::kBF16));
  weights.mark_current();
  EXPECT_FALSE(has_codes(weights)) << "the optimizer did not write them";
  EXPECT_TRUE(weights.keeps(DType::kBF16));
}

TEST_F(WeightsTest, CodesOfFormerWeightsAreReleasedBeforeThoseOfTheSame) {
  Weights weights(tensor({2}, {1, 2}));
  keep_codes(weights);
  keep_codes(weights, kBackward);
  const int64_t both = bytes();
  weights.write(tensor({2}, {3, 4}));
  keep_codes(weights, kBackward);
  EXPECT_LT(bytes(), both) << "those of forward are of former weights";
  keep_codes(weights);
  EXPECT_EQ(values(codes_of(weights).codes), (std::vector<double>{3, 4}));
  EXPECT_TRUE(has_codes(weights, kBackward));
  constexpr uint64_t kThird = 3;
  keep_codes(weights, kThird);
  EXPECT_TRUE(has_codes(weights, kThird));
  EXPECT_TRUE(has_codes(weights)) << "only the first of three goes";
  EXPECT_FALSE(has_codes(weights, kBackward));
}

TEST_F(WeightsTest, TheCopyOfTheOptimizerLeavesCodes) {
  Weights weights(tensor({2}, {1, 2}));
  keep_codes(weights);
  weights.set_compute(converted(weights.kept(), DType::kBF16));
  weights.set_compute(Tensor());
  EXPECT_FALSE(weights.keeps(DType::kBF16));
  EXPECT_TRUE(has_codes(weights));
}

// The versions of the former tensor say nothing about the new one.
TEST_F(WeightsTest, AnotherRepresentationDropsCodes) {
  Weights weights(tensor({2}, {1, 2}));
  keep_codes(weights);
  split(weights);
  EXPECT_FALSE(has_codes(weights));
  keep_codes(weights);
  split(weights);  // they stay as they are
  EXPECT_TRUE(has_codes(weights));
  join(weights);
  EXPECT_FALSE(has_codes(weights));
}

TEST_F(WeightsTest, ACurrentCopyIsReadAndHasOneLeaf) {
  Weights weights(tensor({2}, {1, 2}));
  const Ref<AccumulateGrad> accumulator = source(weights);
  const Tensor copy = converted(weights.kept(), DType::kF16);
  weights.set_compute(copy);
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
