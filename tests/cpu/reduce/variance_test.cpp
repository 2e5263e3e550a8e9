// Variances, standard deviations and their gradients.
#include <gtest/gtest.h>

#include <cmath>

#include "cpu/reduce/cases.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

constexpr DType kDTypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

void variance(const Variance& rule, const HostTensor& in, const HostTensor& means, const HostTensor& out,
              int threads = 1) {
  ASSERT_TRUE(with_stream(threads, [&](Stream& stream) {
                return cpu::kReduceKernels.variance(stream, rule, in.view(), means.view(), out.view());
              }).ok());
  EXPECT_TRUE(means.guards_hold() && out.guards_hold());
}

// If the mean were wrong in its last bit, the variance and its gradient would be pure noise.
TEST(Variance, OfEqualTermsIsExactlyZero) {
  for_each_instruction_set([] {
    for (const DType dtype : kDTypes) {
      for (const Shape& shape : {Shape{3, 999}, Shape{999, 3}, Shape{1, 200001}}) {
        HostTensor in(dtype, shape);
        for (int64_t i = 0; i < in.numel(); ++i) in.set(i, 0.1);
        for (const uint32_t dims : {1u, 2u, 3u}) {
          HostTensor means(DType::kF64, reduced_shape(shape, dims)), out(dtype, reduced_shape(shape, dims));
          variance({.divisor = 1, .takes_root = false}, in, means, out, 2);
          for (int64_t i = 0; i < out.numel(); ++i) {
            ASSERT_EQ(out.get(i), 0);
            ASSERT_EQ(means.get(i), in.get(0));
          }
        }
      }
    }
  });
}

// A million standard deviations from 0, where FP32 resolves a mean only to 1/32.
TEST(Variance, KeepsItsDigitsFarFromZero) {
  for_each_instruction_set([] {
    HostTensor in(DType::kF32, {4, 1000}), means(DType::kF64, {4, 1}), out(DType::kF32, {4, 1});
    for (int64_t i = 0; i < in.numel(); ++i) in.set(i, 1e6 + static_cast<double>(i % 2));
    variance({.divisor = 1000, .takes_root = false}, in, means, out);
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(means.get(i), 1e6 + 0.5);
      EXPECT_EQ(out.get(i), 0.25);
    }
  });
}

TEST(Variance, PassesInfinitiesAndNanAsNan) {
  for_each_instruction_set([] {
    for (const int64_t length : {2, 70, 1500}) {
      HostTensor in(DType::kF32, {4, length}), means(DType::kF64, {4, 1}), out(DType::kF32, {4, 1});
      in.fill_uniform(-1, 1, 3);
      in.set(0, INFINITY);
      in.set(length + 1, -INFINITY);
      in.set(2 * length + 1, NAN);
      variance({.divisor = 1, .takes_root = true}, in, means, out);
      for (int64_t row = 0; row < 3; ++row) EXPECT_TRUE(std::isnan(out.get(row))) << row;
      EXPECT_TRUE(std::isfinite(out.get(3)));
    }
  });
}

TEST(Variance, DividesByZeroAsFloatsDo) {
  HostTensor in(DType::kF32, {2, 2}), means(DType::kF64, {2, 1}), out(DType::kF32, {2, 1});
  for (int64_t i = 0; i < 4; ++i) in.set(i, i == 3 ? 2 : 1);
  variance({.divisor = 0, .takes_root = false}, in, means, out);
  EXPECT_TRUE(std::isnan(out.get(0)));
  EXPECT_EQ(out.get(1), INFINITY);
}

TEST(Variance, IsTheSameOnAnyNumberOfThreads) {
  for (const Shape& shape : {Shape{300, 1000}, Shape{1, 300000}, Shape{300000, 1}}) {
    HostTensor in(DType::kF32, shape);
    in.fill_uniform(-1, 1, 3);
    for (const uint32_t dims : {1u, 2u, 3u}) {
      const Shape out_shape = reduced_shape(shape, dims);
      HostTensor means(DType::kF64, out_shape), one(DType::kF64, out_shape), seven(DType::kF64, out_shape);
      variance({.divisor = 3, .takes_root = false}, in, means, one, 1);
      variance({.divisor = 3, .takes_root = false}, in, means, seven, 7);
      EXPECT_EQ(one.bytes(), seven.bytes());
    }
  }
}

}  // namespace
}  // namespace halftone
