#include <gtest/gtest.h>

#include <cmath>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

void sum(const HostTensor& in, double scale, Store store, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(cpu::kReduceKernels.sum(stream, in.view(), scale, store, out.view()).ok());
}

// The input's shape with the reduced dimensions at size 1.
Shape summed_over(const Shape& shape, uint32_t dims) {
  Shape out = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    if ((dims >> i & 1) != 0) out[i] = 1;
  }
  return out;
}

struct Sums {
  std::vector<double> values;
  std::vector<double> magnitudes;  // sums of absolute values; rounding errors are relative to them
};

Sums reference(const HostTensor& in, const Shape& out_shape) {
  const Shape strides = contiguous_strides(out_shape);
  Sums sums = {std::vector<double>(static_cast<size_t>(numel(out_shape))),
               std::vector<double>(static_cast<size_t>(numel(out_shape)))};
  for (int64_t i = 0; i < in.numel(); ++i) {
    int64_t rest = i, at = 0;
    for (int d = out_shape.rank() - 1; d >= 0; --d) {
      if (out_shape[d] != 1) at += rest % in.view().shape[d] * strides[d];
      rest /= in.view().shape[d];
    }
    sums.values[static_cast<size_t>(at)] += in.get(i);
    sums.magnitudes[static_cast<size_t>(at)] += std::fabs(in.get(i));
  }
  return sums;
}

// Rounding of the result, and of at most 16 + log2(count) < 48 additions in the compute type, each of 2^-24.
void expect_sums(const HostTensor& in, const HostTensor& out, double scale = 1, double previous = 0) {
  const Sums expected = reference(in, out.view().shape);
  const double addition = out.view().dtype == DType::kF64 ? 48 * 0x1p-53 : 48 * 0x1p-24;
  for (int64_t i = 0; i < out.numel(); ++i) {
    const size_t k = static_cast<size_t>(i);
    const double value = previous + scale * expected.values[k];
    const double bound = is_float(out.view().dtype) ? tolerance(out.view().dtype).relative * std::fabs(value) +
                                                          addition * (scale * expected.magnitudes[k] + previous)
                                                    : 0;
    ASSERT_NEAR(out.get(i), value, bound) << i;
  }
  EXPECT_TRUE(out.guards_hold());
}

void check(DType dtype, const Shape& shape, const Shape& strides, uint32_t dims) {
  HostTensor in(dtype, shape, strides);
  in.fill_uniform(dtype == DType::kU8 || dtype == DType::kBool ? 0 : -1, is_float(dtype) ? 1 : 5, 3);
  HostTensor out(is_float(dtype) ? dtype : DType::kI64, summed_over(shape, dims));
  sum(in, 1, Store::kWrite, out);
  expect_sums(in, out);
}

TEST(Sum, OfEveryLengthAlongRowsAndColumns) {
  for_each_instruction_set([] {
    for (int64_t size = 0; size < 70; ++size) {
      check(DType::kF32, {size, 3}, {3, 1}, 1);
      check(DType::kF32, {3, size}, {std::max<int64_t>(1, size), 1}, 2);
      check(DType::kBF16, {size}, {1}, 1);
      check(DType::kBF16, {65, size}, {std::max<int64_t>(1, size), 1}, 1);
    }
  });
}

TEST(Sum, OfSizesAroundBlocksStripsAndPieces) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
    SCOPED_TRACE(name_of(dtype));
    for (const int64_t size : {255, 256, 257, 511, 513, 16383, 16385, 70001, 300007}) check(dtype, {size}, {1}, 1);
    check(dtype, {128, 512}, {512, 1}, 1);
    check(dtype, {128, 512}, {512, 1}, 2);
    check(dtype, {5000, 10}, {10, 1}, 1);
    check(dtype, {5000, 10}, {10, 1}, 2);
    check(dtype, {33, 700, 9}, {6300, 9, 1}, 5);
  }
}

TEST(Sum, IntoAnOutputThatIsNotContiguous) {
  HostTensor in(DType::kF32, {4, 9, 70});
  in.fill_uniform(-1, 1, 3);
  HostTensor out(DType::kBF16, {4, 1, 70}, {1, 1, 5});
  sum(in, 1, Store::kWrite, out);
  expect_sums(in, out);
}

TEST(Sum, ScalesOnceAndAddsToWhatTheOutputHolds) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    HostTensor in(dtype, {37, 81});
    in.fill_uniform(-1, 1, 3);
    for (const Shape& shape : {Shape{1, 81}, Shape{37, 1}, Shape{1, 1}}) {
      HostTensor out(dtype, shape);
      for (int64_t i = 0; i < out.numel(); ++i) out.set(i, 2);
      sum(in, 0.125, Store::kAdd, out);
      expect_sums(in, out, 0.125, 2);
    }
  }
}

TEST(Sum, OfNothingIsZero) {
  HostTensor in(DType::kF32, {4, 0, 3});
  HostTensor out(DType::kF32, {4, 1, 3});
  sum(in, 1, Store::kWrite, out);
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(out.get(i), 0.0);
  HostTensor kept(DType::kF32, {4, 1, 3});
  for (int64_t i = 0; i < 12; ++i) kept.set(i, 5);
  sum(in, 1, Store::kAdd, kept);
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(kept.get(i), 5.0);
  HostTensor empty(DType::kF32, {1, 0, 3});
  sum(HostTensor(DType::kF32, {4, 0, 3}), 1, Store::kWrite, empty);
  EXPECT_TRUE(empty.guards_hold());
}

// A running sum in FP32 would stop growing at 2^24, and one in BF16 much earlier.
TEST(Sum, DoesNotLoseSmallTermsInManyEqualOnes) {
  constexpr int64_t kCount = 40'000'000;
  HostTensor ones(DType::kBF16, {1}, {0});
  ones.set(0, 1);
  const View repeated = {ones.data(), DType::kBF16, {kCount}, {0}};
  HostTensor out(DType::kF32, {1});
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(cpu::kReduceKernels.sum(stream, repeated, 1, Store::kWrite, out.view()).ok());
  EXPECT_EQ(out.get(0), 4e7);
}

TEST(Sum, OfIntegersIsExactAndWraps) {
  HostTensor in(DType::kI64, {3});
  const int64_t values[] = {INT64_MAX, 1, 5};
  std::memcpy(in.data(), values, sizeof values);
  HostTensor out(DType::kI64, {1});
  sum(in, 0.5, Store::kWrite, out);
  int64_t total;
  std::memcpy(&total, out.data(), sizeof total);
  EXPECT_EQ(total, INT64_MIN + 5);
}

std::vector<std::byte> bytes_of_sum(const HostTensor& in, uint32_t dims, int threads) {
  HostTensor out(DType::kF32, summed_over(in.view().shape, dims));
  sum(in, 1, Store::kWrite, out, threads);
  return out.bytes();
}

TEST(Sum, GivesTheSameBitsOnAnyNumberOfThreadsAndEveryInstructionSet) {
  const Shape shapes[] = {{1000, 300}, {300, 1000}, {100000, 3}, {3, 100000}, {60, 50, 40}};
  for (const Shape& shape : shapes) {
    HostTensor in(DType::kF32, shape);
    in.fill_uniform(-1, 1, 3);
    for (uint32_t dims = 1; dims < 1u << shape.rank(); ++dims) {
      const auto one = bytes_of_sum(in, dims, 1);
      EXPECT_EQ(bytes_of_sum(in, dims, 2), one);
      EXPECT_EQ(bytes_of_sum(in, dims, 7), one);
      for_each_instruction_set([&] { EXPECT_EQ(bytes_of_sum(in, dims, 2), one); });
    }
  }
}

}  // namespace
}  // namespace halftone
