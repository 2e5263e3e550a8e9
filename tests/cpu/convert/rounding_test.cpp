// The values at which a conversion can go wrong: every tie of every small format and its direct neighbours. Sources
// with more bits than FP32 must not be rounded twice.
#include <gtest/gtest.h>

#include <bit>

#include "cpu/convert/elements.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr DType kSmallFormats[] = {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};

void cast(const void* in, DType from, void* out, DType to, int64_t count) {
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  const View in_view = {const_cast<void*>(in), from, {count}, {1}};
  const View out_view = {out, to, {count}, {1}};
  ASSERT_TRUE(cpu::kConvertKernels.cast(stream, in_view, out_view).ok());
}

template <class T>
void expect_nearest(const std::vector<T>& values, DType to) {
  std::vector<uint8_t> out(values.size() * size_of(to));
  cast(values.data(), dtype_of<T>, out.data(), to, static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t code = 0;
    std::memcpy(&code, &out[i * size_of(to)], size_of(to));
    ASSERT_EQ(code, nearest_code(to).of(static_cast<long double>(values[i]))) << "of " << values[i];
  }
}

// Codes, midpoints of neighbouring codes, and the next doubles on both sides of each, of both signs.
std::vector<double> doubles_around_ties(const NearestCode& reference) {
  std::vector<double> values;
  for (int code = 0; code < reference.largest(); ++code) {
    const double low = reference.value(static_cast<uint32_t>(code));
    const double high = reference.value(static_cast<uint32_t>(code + 1));
    for (const double value : {low, (low + high) / 2, high}) {
      for (const double sign : {1.0, -1.0}) {
        values.push_back(sign * std::nextafter(value, 0.0));
        values.push_back(sign * value);
        values.push_back(sign * std::nextafter(value, INFINITY));
      }
    }
  }
  return values;
}

TEST(CastFromDouble, RoundsOnceBesideEveryTie) {
  for_each_instruction_set([] {
    for (const DType to : kSmallFormats) {
      SCOPED_TRACE(name_of(to));
      expect_nearest(doubles_around_ties(nearest_code(to)), to);
    }
  });
}

TEST(CastFromDouble, CarriesOverflowAndUnderflowThrough) {
  const std::vector<double> values = {1e300,      -1e300,   1e39,   65519.999999, 65520, 464,     464.0000001,
                                      61439.9999, 61440,    5e-324, -5e-324,      1e-50, 0x1p-25, 0x1.0000000000001p-25,
                                      INFINITY,   -INFINITY};
  for_each_instruction_set([&] {
    for (const DType to : kSmallFormats) expect_nearest(values, to);
  });
}

// Midpoints of neighbouring codes, scaled up until they are integers, with the integers next to them.
std::vector<int64_t> integers_around_ties(int significant_bits) {
  std::vector<int64_t> values = {INT64_MAX, INT64_MIN, INT64_MIN + 1, 0,   1,     -1,    448,
                                 464,       465,       479,           480, 65519, 65520, 61439};
  for (int exponent = significant_bits; exponent < 62; ++exponent) {
    const int64_t step = int64_t{1} << (exponent - significant_bits + 1);
    for (int64_t odd = 0; odd < 4; ++odd) {
      const int64_t tie = (int64_t{1} << exponent) + odd * step + step / 2;
      for (const int64_t value : {tie - 1, tie, tie + 1}) {
        values.push_back(value);
        values.push_back(-value);
      }
    }
  }
  return values;
}

TEST(CastFromInt64, RoundsOnceBesideTies) {
  for_each_instruction_set([] {
    expect_nearest(integers_around_ties(11), DType::kF16);
    expect_nearest(integers_around_ties(8), DType::kBF16);
    expect_nearest(integers_around_ties(4), DType::kF8E4M3);
    expect_nearest(integers_around_ties(3), DType::kF8E5M2);
  });
}

TEST(CastFromInt64, RoundsOnceIntoFloat) {
  const std::vector<int64_t> values = integers_around_ties(24);
  for_each_instruction_set([&] {
    std::vector<float> out(values.size());
    cast(values.data(), DType::kI64, out.data(), DType::kF32, static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(out[i], static_cast<float>(static_cast<long double>(values[i])));
  });
}

// Every code converts to FP32 and back unchanged; a NaN becomes quiet.
TEST(CastToFloat, WidensEveryCodeExactlyAndBack) {
  for_each_instruction_set([] {
    for (const DType dtype : kSmallFormats) {
      SCOPED_TRACE(name_of(dtype));
      const int64_t count = int64_t{1} << nearest_code(dtype).bits();
      HostTensor codes(dtype, {count});
      for (int64_t i = 0; i < count; ++i) set_bits(codes, i, static_cast<uint64_t>(i));
      HostTensor wide(DType::kF32, {count});
      HostTensor back(dtype, {count});
      cast(codes.data(), dtype, wide.data(), DType::kF32, count);
      cast(wide.data(), DType::kF32, back.data(), dtype, count);
      const uint64_t magnitude_mask = static_cast<uint64_t>(count) / 2 - 1;
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t magnitude = static_cast<uint64_t>(i) & magnitude_mask;
        if (magnitude <= static_cast<uint64_t>(nearest_code(dtype).largest())) {
          ASSERT_EQ(wide.get(i), nearest_code(dtype).value(static_cast<uint32_t>(i)));
          ASSERT_EQ(get_bits(back, i), static_cast<uint64_t>(i));
        } else {
          ASSERT_FALSE(std::isfinite(wide.get(i)));
          ASSERT_EQ(std::isnan(back.get(i)), std::isnan(wide.get(i)));
        }
        ASSERT_EQ(std::signbit(wide.get(i)), static_cast<uint64_t>(i) > magnitude_mask);
      }
    }
  });
}

TEST(CastToInteger, TruncatesSaturatesAndMakesNanZero) {
  const std::vector<float> values = {-0.99f,  0.99f,    1.99f,          -1.99f,   127.5f,    128,
                                     -128.5f, -129,     255.5f,         256,      3e9f,      -3e9f,
                                     9.3e18f, -9.3e18f, 0x1.fffffep62f, INFINITY, -INFINITY, NAN};
  const std::vector<int64_t> expected_i64 = {0,          0,           1,         -1,        127,
                                             128,        -128,        -129,      255,       256,
                                             3000000000, -3000000000, INT64_MAX, INT64_MIN, 0x7fffff8000000000,
                                             INT64_MAX,  INT64_MIN,   0};
  const std::vector<int8_t> expected_i8 = {0,   0,   1,    -1,  127,  127, -128, -128, 127,
                                           127, 127, -128, 127, -128, 127, 127,  -128, 0};
  const std::vector<uint8_t> expected_u8 = {0, 0, 1, 0, 127, 128, 0, 0, 255, 255, 255, 0, 255, 0, 255, 255, 0, 0};
  const int64_t count = static_cast<int64_t>(values.size());
  for_each_instruction_set([&] {
    std::vector<int64_t> i64(values.size());
    cast(values.data(), DType::kF32, i64.data(), DType::kI64, count);
    EXPECT_EQ(i64, expected_i64);
    std::vector<int8_t> i8(values.size());
    cast(values.data(), DType::kF32, i8.data(), DType::kI8, count);
    EXPECT_EQ(i8, expected_i8);
    std::vector<uint8_t> u8(values.size());
    cast(values.data(), DType::kF32, u8.data(), DType::kU8, count);
    EXPECT_EQ(u8, expected_u8);
  });
}

}  // namespace
}  // namespace halftone
