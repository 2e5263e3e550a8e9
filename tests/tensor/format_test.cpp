// Expected texts are what PyTorch prints, but for the dtype at the end.
#include "tensor/format.h"

#include <cmath>
#include <limits>

#include "room_fixture.h"

namespace halftone {
namespace {

class FormatTest : public RoomTest {
 protected:
  Tensor counted(const Shape& shape, DType dtype = DType::kF32) {
    std::vector<double> numbers(static_cast<size_t>(numel(shape)));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
    return tensor(shape, numbers, dtype);
  }
};

TEST_F(FormatTest, WholeNumbersEndWithThePoint) {
  EXPECT_EQ(format(tensor({2, 2}, {1, 20, -3, 4})), "tensor([[ 1., 20.],\n        [-3.,  4.]], f32)");
  EXPECT_EQ(format(tensor({2}, {0, 0})), "tensor([0., 0.], f32)");
}

TEST_F(FormatTest, FractionsHaveFourDigitsAndSizesFarApartAnExponent) {
  EXPECT_EQ(format(tensor({3}, {0.5, -1.25, 3})), "tensor([ 0.5000, -1.2500,  3.0000], f32)");
  EXPECT_EQ(format(tensor({2}, {1, 1e-5})), "tensor([1.0000e+00, 1.0000e-05], f32)");
  EXPECT_EQ(format(tensor({1}, {2e9})), "tensor([2.0000e+09], f32)");
  EXPECT_EQ(format(tensor({1}, {5e-5})), "tensor([5.0000e-05], f32)");
  EXPECT_EQ(format(tensor({2}, {1, 1000})), "tensor([   1., 1000.], f32)");
  EXPECT_EQ(format(tensor({2}, {1, 1001})), "tensor([1.0000e+00, 1.0010e+03], f32)");
}

TEST_F(FormatTest, WhatIsNotFiniteDoesNotChooseTheForm) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(format(tensor({4}, {1, NAN, infinity, -infinity})), "tensor([  1.,  nan,  inf, -inf], f32)");
}

TEST_F(FormatTest, IntegersAndBoolsHaveTheirOwnForm) {
  EXPECT_EQ(format(counted({3}, DType::kI64)), "tensor([0, 1, 2], i64)");
  EXPECT_EQ(format(tensor({2}, {1, 0}, DType::kBool)), "tensor([ true, false], bool)");
  const int64_t largest = std::numeric_limits<int64_t>::max();  // f64 does not hold it
  EXPECT_EQ(format(from_host(device(), DType::kI64, {1}, &largest)), "tensor([9223372036854775807], i64)");
}

TEST_F(FormatTest, AScalarHasNoBracketsAndNothingHasItsShape) {
  EXPECT_EQ(format(tensor({}, {2.5}, DType::kBF16)), "tensor(2.5000, bf16)");
  EXPECT_EQ(format(tensor({0}, {})), "tensor([], shape=[0], f32)");
  EXPECT_EQ(format(tensor({2, 0}, {})), "tensor([[],\n        []], shape=[2, 0], f32)");
}

TEST_F(FormatTest, BlocksHaveAnEmptyLineBetweenThem) {
  EXPECT_EQ(format(counted({2, 2, 1}, DType::kI64)),
            "tensor([[[0],\n         [1]],\n\n        [[2],\n         [3]]], i64)");
}

TEST_F(FormatTest, LongRowsAreBrokenAtEightyColumns) {
  EXPECT_EQ(format(counted({40}, DType::kI64)),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,\n"
            "        36, 37, 38, 39], i64)");
}

TEST_F(FormatTest, OfAThousandElementsTheEdgesAreShown) {
  EXPECT_EQ(format(counted({1001}, DType::kI64)), "tensor([   0,    1,    2, ...,  998,  999, 1000], i64)");
  EXPECT_EQ(format(counted({7, 200}, DType::kI64)),
            "tensor([[   0,    1,    2, ...,  197,  198,  199],\n"
            "        [ 200,  201,  202, ...,  397,  398,  399],\n"
            "        [ 400,  401,  402, ...,  597,  598,  599],\n"
            "        ...,\n"
            "        [ 800,  801,  802, ...,  997,  998,  999],\n"
            "        [1000, 1001, 1002, ..., 1197, 1198, 1199],\n"
            "        [1200, 1201, 1202, ..., 1397, 1398, 1399]], i64)");
}

TEST_F(FormatTest, AnyStridesAreRead) {
  const Tensor rows = counted({2, 3}, DType::kI64);
  EXPECT_EQ(format(rows.as_strided({3, 2}, {1, 3}, 0)), "tensor([[0, 3],\n        [1, 4],\n        [2, 5]], i64)");
}

}  // namespace
}  // namespace halftone
