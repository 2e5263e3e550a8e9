// Running sums on several threads, and log-sum-exp of infinities and NaN.
#include <gtest/gtest.h>

#include <cmath>

#include "cpu/reduce/cases.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

void cumulative_sum(const HostTensor& in, int dim, bool from_end, const HostTensor& out, int threads = 1) {
  ASSERT_TRUE(with_stream(threads, [&](Stream& stream) {
                return cpu::kReduceKernels.cumulative_sum(stream, in.view(), dim, from_end, out.view());
              }).ok());
}

TEST(CumulativeSum, MayOverwriteNothingButItsOutputAndIsTheSameOnAnyNumberOfThreads) {
  HostTensor in(DType::kF32, {300, 1000}), one(DType::kF32, {300, 1000}), seven(DType::kF32, {300, 1000});
  in.fill_uniform(-1, 1, 3);
  const auto before = in.bytes();
  for (int dim = 0; dim < 2; ++dim) {
    cumulative_sum(in, dim, false, one, 1);
    cumulative_sum(in, dim, false, seven, 7);
    EXPECT_EQ(one.bytes(), seven.bytes());
  }
  EXPECT_EQ(in.bytes(), before);
}

void log_sum_exp(const HostTensor& in, const HostTensor& out, int threads = 1) {
  ASSERT_TRUE(with_stream(threads, [&](Stream& stream) {
                return cpu::kReduceKernels.log_sum_exp(stream, in.view(), out.view());
              }).ok());
}

TEST(LogSumExp, PassesInfinitiesAndNanInColumns) {
  for_each_instruction_set([] {
    for (const int64_t length : {2, 70, 3000}) {
      HostTensor in(DType::kF32, {length, 20}), out(DType::kF32, {1, 20});
      in.fill_uniform(-1, 1, 3);
      for (int64_t j = 0; j < length; ++j) in.set(20 * j, -INFINITY);
      in.set(20 + 1, INFINITY);
      in.set(2, NAN);
      in.set(3, NAN);
      in.set(20 + 3, INFINITY);
      for (int64_t j = 0; j < length; ++j) in.set(20 * j + 4, -INFINITY);
      in.set(20 + 4, NAN);
      in.set(5, -INFINITY);
      log_sum_exp(in, out, 2);
      EXPECT_EQ(out.get(0), -INFINITY);
      EXPECT_EQ(out.get(1), INFINITY);
      for (int64_t column = 2; column < 5; ++column) EXPECT_TRUE(std::isnan(out.get(column))) << column;
      EXPECT_TRUE(std::isfinite(out.get(5)));
    }
  });
}

TEST(LogSumExp, PassesInfinitiesAndNan) {
  for_each_instruction_set([] {
    for (const int64_t length : {2, 70, 1500}) {
      HostTensor in(DType::kF32, {6, length}), out(DType::kF32, {6, 1});
      in.fill_uniform(-1, 1, 3);
      for (int64_t j = 0; j < length; ++j) in.set(j, -INFINITY);
      in.set(length + 1, INFINITY);
      in.set(2 * length, NAN);
      in.set(3 * length, NAN);
      in.set(3 * length + 1, INFINITY);
      for (int64_t j = 0; j < length; ++j) in.set(4 * length + j, -INFINITY);
      in.set(4 * length + 1, NAN);
      in.set(5 * length, -INFINITY);
      log_sum_exp(in, out);
      EXPECT_EQ(out.get(0), -INFINITY);
      EXPECT_EQ(out.get(1), INFINITY);
      for (int64_t row = 2; row < 5; ++row) EXPECT_TRUE(std::isnan(out.get(row))) << row;
      EXPECT_TRUE(std::isfinite(out.get(5)));
    }
  });
}

}  // namespace
}  // namespace halftone
