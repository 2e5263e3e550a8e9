// Running sums and log-sum-exp.
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

TEST(CumulativeSum, FollowsTheReferenceFromBothEnds) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI32, DType::kU8}) {
      SCOPED_TRACE(name_of(dtype));
      for (const ReduceCase& c : kReduceCases) {
        HostTensor in(dtype, c.shape, c.strides), out(is_float(dtype) ? dtype : DType::kI64, c.shape);
        in.fill_uniform(0, is_float(dtype) ? 0.125 : 9, 3);
        for (int dim = 0; dim < std::max(1, c.shape.rank()); ++dim) {
          const auto terms = terms_of(c.shape, reduced_shape(c.shape, 1u << dim));
          for (const bool from_end : {false, true}) {
            cumulative_sum(in, dim, from_end, out);
            for (const auto& way : terms) {
              double sum = 0;
              for (size_t k = 0; k < way.size(); ++k) {
                const int64_t at = way[from_end ? way.size() - 1 - k : k];
                sum += in.get(at);
                ASSERT_TRUE(is_close(out.get(at), sum, out.view().dtype)) << out.get(at) << " for " << sum;
              }
            }
            EXPECT_TRUE(out.guards_hold());
          }
        }
      }
    }
  });
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
