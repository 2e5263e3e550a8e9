// Weights that are split into BF16 and a remainder: exact, rounded half up, and updated like FP32 weights.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "core/number/bfloat16.h"
#include "cpu/optim/parameters.h"
#include "instruction_sets.h"
#include "sanitizers.h"

namespace halftone {
namespace {

constexpr AdamwGroup kAdamw = {1e-3, 0.9, 0.999, 1e-8, 0.01};

// Lower halves around the points where the upper half changes, and others.
std::vector<uint32_t> lower_halves() {
  std::vector<uint32_t> halves = {0, 1, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
  while (halves.size() < 1024) halves.push_back(static_cast<uint32_t>(halves.size()) * 0x9E3779B9u >> 16);
  return halves;
}

// Runs one tensor through the split and join kernels of the chosen instruction set.
struct RoundTrip {
  explicit RoundTrip(std::vector<uint32_t> given) : words(std::move(given)) {
    const int64_t size = static_cast<int64_t>(words.size());
    const View in = {words.data(), DType::kF32, {size}, {1}};
    const View high_view = {high.data(), DType::kBF16, {size}, {1}};
    const View remainder_view = {remainder.data(), DType::kI16, {size}, {1}};
    EXPECT_TRUE(cpu::kOptimKernels.split_master(stream, in, high_view, remainder_view).ok());
    const View out = {joined.data(), DType::kF32, {size}, {1}};
    EXPECT_TRUE(cpu::kOptimKernels.join_master(stream, high_view, remainder_view, out).ok());
  }

  std::vector<uint32_t> words;
  std::vector<uint16_t> high = std::vector<uint16_t>(words.size() + 1, 0x1234);
  std::vector<int16_t> remainder = std::vector<int16_t>(words.size() + 1, 0x1234);
  std::vector<uint32_t> joined = std::vector<uint32_t>(words.size() + 1, 0x12345678);
  ThreadPool pool{2};
  cpu::CpuStream stream{pool};
};

// 2^26 patterns: every sign, exponent and upper mantissa with 1024 lower halves; an eighth of them under a sanitizer.
TEST(SplitMaster, RestoresEveryPattern) {
  constexpr uint32_t kStep = kAnySanitizer ? 512 : 64;
  const std::vector<uint32_t> halves = lower_halves();
  for_each_instruction_set([&] {
    for (uint32_t upper = 0; upper < 0x10000; upper += kStep) {
      std::vector<uint32_t> words;
      for (uint32_t i = 0; i < 64; ++i) {
        for (const uint32_t half : halves) words.push_back((upper + i) << 16 | half);
      }
      const RoundTrip trip(words);
      ASSERT_TRUE(std::equal(words.begin(), words.end(), trip.joined.begin())) << upper;
      for (size_t i = 0; i < words.size(); ++i) ASSERT_EQ(trip.high[i], (words[i] + 0x8000) >> 16 & 0xffff);
    }
  });
}

TEST(SplitMaster, WritesNothingBehindTheEnd) {
  for_each_instruction_set([] {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{255}, size_t{kChunkSize + 1}}) {
      std::vector<uint32_t> words(size);
      for (size_t i = 0; i < size; ++i) words[i] = static_cast<uint32_t>(i) * 0x9E3779B9u;
      const RoundTrip trip(words);
      EXPECT_TRUE(std::equal(words.begin(), words.end(), trip.joined.begin()));
      EXPECT_EQ(trip.high.back(), 0x1234);
      EXPECT_EQ(trip.remainder.back(), 0x1234);
      EXPECT_EQ(trip.joined.back(), 0x12345678u);
    }
  });
}

// Rounding half up and half to even differ only if the lower half is exactly 0x8000.
TEST(SplitMaster, RoundsAsNearestEvenDoesButForTies) {
  const std::vector<uint32_t> halves = lower_halves();
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const uint32_t half : halves) {
      const float value = std::bit_cast<float>(upper << 16 | half);
      if (std::isnan(value)) continue;
      const uint16_t nearest_even = BFloat16::from(value).bits;
      if (half != 0x8000) {
        ASSERT_EQ(split_high(value), nearest_even) << upper << " " << half;
      } else {
        ASSERT_EQ(split_high(value), upper + 1) << upper;
      }
    }
  }
}

std::vector<ParameterSpec> split_parameters(bool split) {
  return {{1, DType::kF32, DType::kBF16, true, 0, DType::kF32, split},
          {257, DType::kBF16, DType::kBF16, true, 0, DType::kBF16, split},
          {0, DType::kF32, DType::kBF16, true, 0, DType::kF32, split},
          {kChunkSize + 3, DType::kBF16, DType::kBF16, true, 0, DType::kBF16, split}};
}

// Runs steps and returns the FP32 weights.
std::vector<float> weights_after_steps(bool split, int threads, uint32_t steps) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ParameterList list(split_parameters(split));
  OptimizerState state;
  for (uint32_t t = 1; t <= steps; ++t) {
    list.draw_gradients(t, -1, 1);
    EXPECT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
    EXPECT_TRUE(cpu::kOptimKernels.adamw(stream, list.tensors(), &kAdamw, &state).ok());
  }
  EXPECT_TRUE(list.guards_hold());
  std::vector<float> weights;
  for (const auto& parameter : list.parameters()) {
    if (split) parameter->join();
    weights.insert(weights.end(), parameter->masters(), parameter->masters() + parameter->spec.size);
  }
  return weights;
}

TEST(SplitMaster, IsUpdatedToTheBitAsAFullMasterIs) {
  for_each_instruction_set([] {
    const std::vector<float> full = weights_after_steps(false, 1, 20);
    EXPECT_EQ(weights_after_steps(true, 1, 20), full);
    EXPECT_EQ(weights_after_steps(true, 7, 20), full);
  });
}

}  // namespace
}  // namespace halftone
