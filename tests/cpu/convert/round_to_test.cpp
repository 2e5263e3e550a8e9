// Roundings to formats that no case of tests/ops/cases reaches: every number of 16 bits and its neighbours, all
// exponents of double, chances, and threads.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "backend/formula/round_to_format.h"
#include "core/number/float4.h"
#include "core/number/tf32.h"
#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

HostTensor rounded_tensor(const HostTensor& in, const FormatRounding& rule, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  HostTensor out(in.view().dtype, in.view().shape);
  EXPECT_TRUE(cpu::kConvertKernels.round_to(stream, in.view(), rule, out.view()).ok());
  EXPECT_TRUE(out.guards_hold());
  return out;
}

// Every FP32 whose lower half is 0, 1, or all ones: the numbers of BF16 and their neighbours.
HostTensor numbers() {
  HostTensor tensor(DType::kF32, {3 << 16});
  auto* words = static_cast<uint32_t*>(tensor.data());
  for (uint32_t upper = 0; upper < 1 << 16; ++upper) {
    for (uint32_t k = 0; k < 3; ++k) words[3 * upper + k] = (upper << 16) + k - 1;
  }
  return tensor;
}

template <class Convert>
void expect_conversion(NumberFormat format, Overflow overflow, Convert convert) {
  const HostTensor in = numbers();
  for_each_instruction_set([&] {
    const HostTensor out = rounded_tensor(in, {.format = bits_of(format), .overflow = overflow});
    const auto* words = static_cast<const float*>(in.data());
    const auto* results = static_cast<const float*>(out.data());
    for (int64_t i = 0; i < in.numel(); ++i) {
      const float wanted = convert(words[i]);
      if (std::isnan(words[i])) {
        ASSERT_TRUE(std::isnan(results[i]));
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(results[i]), std::bit_cast<uint32_t>(wanted)) << words[i];
      }
    }
  });
}

TEST(RoundTo, AgreesWithTheConversionOfEachFormat) {
  const Overflow non_finite = Overflow::kNonFinite;
  expect_conversion(NumberFormat::kF16, non_finite, [](float x) { return static_cast<float>(Float16::from(x)); });
  expect_conversion(NumberFormat::kBF16, non_finite, [](float x) { return static_cast<float>(BFloat16::from(x)); });
  expect_conversion(NumberFormat::kTF32, non_finite, [](float x) { return round_to_tf32(x); });
  expect_conversion(NumberFormat::kE5M2, non_finite, [](float x) { return static_cast<float>(Float8E5M2::from(x)); });
  expect_conversion(NumberFormat::kE2M1, non_finite, [](float x) { return static_cast<float>(Float4E2M1::from(x)); });
  expect_conversion(NumberFormat::kE4M3, Overflow::kSaturate,
                    [](float x) { return static_cast<float>(Float8E4M3::from(x)); });
  const auto to_infinity = [](float x) {
    const float result = Float8E4M3::from(x, Overflow::kNonFinite);
    return std::isnan(result) ? std::copysign(NAN, x) : result;
  };
  expect_conversion(NumberFormat::kE4M3, non_finite, to_infinity);
}

// A format of FP32's digits changes FP32 numbers below its smallest normal number alone.
TEST(RoundTo, KeepsNumbersOfWhichNoDigitIsMissing) {
  const HostTensor in = numbers();
  const FormatRounding few_exponents = {.format = ieee_format(5, 23), .overflow = Overflow::kNonFinite};
  for_each_instruction_set([&] {
    const HostTensor same = rounded_tensor(in, {.format = ieee_format(8, 23), .overflow = Overflow::kNonFinite});
    const HostTensor rounded = rounded_tensor(in, few_exponents);
    for (int64_t i = 0; i < in.numel(); ++i) {
      const double value = in.get(i);
      if (std::isnan(value)) continue;
      ASSERT_EQ(same.get(i), value);
      if (std::fabs(value) >= 0x1p16) continue;
      const double whole = std::nearbyint(value * 0x1p37);
      ASSERT_EQ(rounded.get(i), std::fabs(value) < 0x1p-14 ? whole * 0x1p-37 : value);
    }
  });
}

// A double is rounded once: just above a tie of FP16 it goes up, where FP32 between would make it the tie.
TEST(RoundTo, RoundsDoubleOnce) {
  HostTensor in(DType::kF64, {4});
  in.set(0, 1 + 0x1p-11 + 0x1p-40);
  in.set(1, -(1 + 0x1p-11));
  in.set(2, 0x1p-1074);
  in.set(3, 1e300);
  for_each_instruction_set([&] {
    const HostTensor nearest = rounded_tensor(in, {.format = bits_of(NumberFormat::kF16)});
    EXPECT_EQ(nearest.get(0), 1 + 0x1p-10);
    EXPECT_EQ(nearest.get(1), -1);
    EXPECT_EQ(nearest.get(2), 0);
    EXPECT_EQ(nearest.get(3), 65504);
    const HostTensor up = rounded_tensor(in, {.format = bits_of(NumberFormat::kF16), .rounding = Rounding::kUp});
    EXPECT_EQ(up.get(2), 0x1p-24);
  });
}

// 1 + 2^-9 lies a quarter of the way between two numbers of BF16: a quarter of all upper halves of a word go up.
TEST(RoundTo, GoesUpForItsShareOfTheWords) {
  const FormatGrid<float> grid =
      grid_of<float>({.format = bits_of(NumberFormat::kBF16), .rounding = Rounding::kStochastic});
  int up = 0;
  for (uint32_t upper = 0; upper < 1 << 16; ++upper) {
    up += round_to_format(1 + 0x1p-9f, grid, upper << 16) > 1 ? 1 : 0;
  }
  EXPECT_EQ(up, 16384);
}

// A share that is far below one word never goes up; a number of the format never moves.
TEST(RoundTo, KeepsNumbersOfTheFormatWhateverTheWord) {
  const FormatGrid<float> grid =
      grid_of<float>({.format = bits_of(NumberFormat::kE4M3), .rounding = Rounding::kStochastic});
  for (const uint32_t word : {0u, 0x80000000u, 0xffffffffu}) {
    for (int code = 0; code < 0x7f; ++code) {
      const float value = Float8E4M3{static_cast<uint8_t>(code)};
      EXPECT_EQ(round_to_format(value, grid, word), value);
    }
    EXPECT_EQ(round_to_format(0x1p-60f, grid, word), 0);
  }
}

TEST(RoundTo, DrawsTheSameOnAnyNumberOfThreads) {
  HostTensor in(DType::kF32, {50000});
  in.fill_uniform(-6, 6, 1);
  const FormatRounding rule = {
      .format = bits_of(NumberFormat::kE2M1), .rounding = Rounding::kStochastic, .key = {.seed = 5, .sequence = 2}};
  EXPECT_EQ(rounded_tensor(in, rule).bytes(), rounded_tensor(in, rule, 3).bytes());
  FormatRounding other = rule;
  other.key.sequence = 3;
  EXPECT_NE(rounded_tensor(in, rule).bytes(), rounded_tensor(in, other).bytes());
}

}  // namespace
}  // namespace halftone
