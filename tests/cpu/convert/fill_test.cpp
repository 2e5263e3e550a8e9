#include <gtest/gtest.h>

#include "cpu/convert/elements.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

void fill(double value, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(cpu::kConvertKernels.fill(stream, value, out.view()).ok());
}

uint64_t bits_of(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

TEST(Fill, WritesTheRoundedValueOfEveryDtype) {
  for (int32_t code = kDTypeFirst; code <= kDTypeLast; ++code) {
    const DType dtype = static_cast<DType>(code);
    SCOPED_TRACE(name_of(dtype));
    for (const double value : {0.0, -0.0, 1.0, -1.7, 3.3, 1e30, -1e30}) {
      HostTensor out(dtype, {301});
      fill(value, out);
      for (int64_t i = 0; i < 301; ++i) ASSERT_EQ(get_bits(out, i), cast_bits(DType::kF64, dtype, bits_of(value)));
      EXPECT_TRUE(out.guards_hold());
    }
  }
}

TEST(Fill, RoundsOnce) {
  HostTensor out(DType::kF16, {1});
  fill(1 + 0x1p-11 + 0x1p-40, out);  // just above a tie: rounded to FP32 first, it would become the tie and round down
  EXPECT_EQ(out.get(0), 1 + 0x1p-10);
}

TEST(Fill, TouchesNothingBetweenTheElements) {
  for (const double value : {0.0, 2.0}) {
    HostTensor out(DType::kF32, {3, 5, 4}, {1, 24, 6});
    fill(value, out);
    for (int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(out.get(i), value);
    EXPECT_TRUE(out.guards_hold());
  }
}

TEST(Fill, TakesEmptyTensorsAndLargeOnes) {
  HostTensor empty(DType::kF32, {3, 0});
  fill(1, empty);
  EXPECT_TRUE(empty.guards_hold());
  HostTensor large(DType::kBF16, {200001});
  fill(-2, large, 7);
  for (int64_t i = 0; i < large.numel(); ++i) ASSERT_EQ(large.get(i), -2);
  EXPECT_TRUE(large.guards_hold());
}

void arange(double start, double step, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(cpu::kConvertKernels.arange(stream, start, step, out.view()).ok());
}

TEST(Arange, RoundsEachNumberOnce) {
  for_each_instruction_set([] {
    for (int32_t code = kDTypeFirst; code <= kDTypeLast; ++code) {
      const DType dtype = static_cast<DType>(code);
      SCOPED_TRACE(name_of(dtype));
      for (const double step : {0.0, 0.1, -1.0, 1 + 0x1p-30}) {
        HostTensor out(dtype, {301});
        arange(0.25, step, out);
        for (int64_t i = 0; i < 301; ++i) {
          const double number = 0.25 + static_cast<double>(i) * step;
          ASSERT_EQ(get_bits(out, i), cast_bits(DType::kF64, dtype, bits_of(number))) << i;
        }
        EXPECT_TRUE(out.guards_hold());
      }
    }
  });
}

TEST(Arange, TakesGapsEmptyTensorsAndLargeOnes) {
  HostTensor gaps(DType::kI32, {3, 5, 4}, {1, 24, 6});
  arange(-7, 3, gaps);
  for (int64_t i = 0; i < gaps.numel(); ++i) ASSERT_EQ(gaps.get(i), -7 + 3 * static_cast<double>(i));
  EXPECT_TRUE(gaps.guards_hold());
  HostTensor empty(DType::kF32, {0});
  arange(1, 1, empty);
  EXPECT_TRUE(empty.guards_hold());
  HostTensor large(DType::kI64, {200001});
  arange(5, 2, large, 7);
  for (int64_t i = 0; i < large.numel(); ++i) ASSERT_EQ(large.get(i), 5 + 2 * static_cast<double>(i));
  EXPECT_TRUE(large.guards_hold());
}

}  // namespace
}  // namespace halftone
