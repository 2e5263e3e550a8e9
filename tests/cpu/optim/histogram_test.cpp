// Counts gradients by exponent, and chooses the scale from the counts.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backend/chunks.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

using Counts = std::array<int64_t, kExponentBins>;

// A limit of 2^11, and a scale that every step fits to it.
ScalerSettings fitted_each_step() { return {.growth_interval = 1, .histogram_limit = 2048}; }

Counts counted(const std::vector<const HostTensor*>& gradients, int threads = 1, int64_t growth_tracker = 0,
               const ScalerSettings& settings = fitted_each_step()) {
  std::vector<GradSlot> slots;
  std::vector<int64_t> sizes;
  for (const HostTensor* gradient : gradients) {
    slots.push_back({gradient->data(), gradient->view().dtype, static_cast<int32_t>(slots.size()), gradient->numel()});
    sizes.push_back(gradient->numel());
  }
  const std::vector<Chunk> chunks = plan_chunks(sizes);
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ScalerState state;
  state.growth_tracker = growth_tracker;
  // A guard after the last bin, and counts that start above 0.
  std::vector<int64_t> bins(kExponentBins + 1, 1000);
  const MultiTensor<GradSlot> list = {slots.data(), chunks.data(), static_cast<int64_t>(slots.size()),
                                      static_cast<int64_t>(chunks.size())};
  EXPECT_TRUE(cpu::kOptimKernels.grad_exponents(stream, list, settings, &state, bins.data()).ok());
  EXPECT_EQ(bins.back(), 1000);
  Counts counts;
  for (size_t e = 0; e < counts.size(); ++e) counts[e] = bins[e] - 1000;
  return counts;
}

// Counts the values, not their bit patterns.
Counts reference(const std::vector<const HostTensor*>& gradients) {
  Counts counts = {};
  for (const HostTensor* gradient : gradients) {
    for (int64_t i = 0; i < gradient->numel(); ++i) {
      const double value = gradient->get(i);
      if (value == 0.0 || !std::isfinite(value)) continue;
      ++counts[static_cast<size_t>(std::max(0, std::ilogb(value) + 127))];
    }
  }
  return counts;
}

// Magnitudes over the whole range of the dtype, zeros of both signs, Inf and NaN.
HostTensor wild_gradient(DType dtype, int64_t size, uint32_t seed) {
  HostTensor gradient(dtype, {size});
  gradient.fill_uniform(-1, 1, seed);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double special[] = {0.0, -0.0, kInfinity, -kInfinity, std::nan(""), 0x1p-149, -0x1p-24, 65504, 3e38};
  for (int64_t i = 0; i < size; ++i) {
    const int64_t kind = i % 23;
    if (kind < 9) gradient.set(i, special[kind]);
    if (kind >= 14) gradient.set(i, std::ldexp(gradient.get(i), static_cast<int>(i * 7 % 280) - 150));
  }
  return gradient;
}

TEST(GradExponents, CountWhatIsFiniteAndNotZeroForEveryDtypeAndSize) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{257}, 2 * kChunkSize + 1}) {
        const HostTensor gradient = wild_gradient(dtype, size, 3);
        ASSERT_EQ(counted({&gradient}), reference({&gradient})) << name_of(dtype) << " " << size;
      }
    }
  });
}

TEST(GradExponents, AddUpOverAListOnAnyNumberOfThreads) {
  const HostTensor a = wild_gradient(DType::kF32, 5 * kChunkSize + 5, 1), b = wild_gradient(DType::kBF16, 257, 2);
  const HostTensor c = wild_gradient(DType::kF16, 2 * kChunkSize, 3), none(DType::kF32, {0});
  const Counts expected = reference({&a, &b, &none, &c});
  for (const int threads : {1, 2, 7}) EXPECT_EQ(counted({&a, &b, &none, &c}, threads), expected) << threads;
}

TEST(GradExponents, AreCountedOnlyWhereTheNextUpdateMovesTheScale) {
  const HostTensor gradient = wild_gradient(DType::kF32, 100, 1);
  ScalerSettings settings = {.growth_interval = 10, .histogram_limit = 2048};
  EXPECT_EQ(counted({&gradient}, 1, 8, settings), Counts{});
  EXPECT_EQ(counted({&gradient}, 1, 9, settings), reference({&gradient}));
  settings.histogram_limit = 0;
  EXPECT_EQ(counted({&gradient}, 1, 9, settings), Counts{});
}

// The counts of these magnitudes, as the rule defines them.
Counts counts_of(const std::vector<double>& magnitudes) {
  Counts counts = {};
  for (const double magnitude : magnitudes) ++counts[static_cast<size_t>(std::max(0, std::ilogb(magnitude) + 127))];
  return counts;
}

double fitted(float scale, const Counts& counts, const ScalerSettings& settings = fitted_each_step()) {
  ScalerState state;
  state.scale = scale;
  update_scale(settings, state, counts.data());
  return state.scale;
}

TEST(HistogramScale, IsTheLargestPowerOfTwoThatKeepsAllGradientsBelowTheLimit) {
  EXPECT_EQ(fitted(1, counts_of({0x1p-20, 0x1p-30})), 0x1p30);  // below 2^-19, so 2^30 keeps them below 2^11
  EXPECT_EQ(fitted(8, counts_of({0x1p-20, 0x1p-30})), 0x1p33);  // the gradients of the line above at a scale of 8
  EXPECT_EQ(fitted(1, counts_of({0x1.ffp-20})), 0x1p30);
  EXPECT_EQ(fitted(65536, counts_of({30000.0, 1.0})), 0x1p12);  // lowered: below 2^15
  EXPECT_EQ(fitted(1024, counts_of({1024.0})), 1024);           // stays
  EXPECT_EQ(fitted(1000, counts_of({1024.0})), 512);            // a power of two, not above 1000
}

TEST(HistogramScale, LetsAShareOfTheGradientsLieAbove) {
  ScalerSettings settings = fitted_each_step();
  std::vector<double> magnitudes(999, 1.0);
  magnitudes.push_back(1024.0);
  EXPECT_EQ(fitted(1, counts_of(magnitudes), settings), 1);
  settings.histogram_share = 0.001;
  EXPECT_EQ(fitted(1, counts_of(magnitudes), settings), 1024);
  magnitudes.push_back(1024.0);  // two of 1001 are more than the share
  EXPECT_EQ(fitted(1, counts_of(magnitudes), settings), 1);
  settings.histogram_share = 0.999999;
  EXPECT_EQ(fitted(1, counts_of({0x1p-126}), settings), 0x1p127);
}

TEST(HistogramScale, StaysBetweenMinimumAndMaximumAndNormal) {
  ScalerSettings settings = fitted_each_step();
  settings.min_scale = 4;
  settings.max_scale = 1000;
  EXPECT_EQ(fitted(16, counts_of({30000.0}), settings), 4);
  EXPECT_EQ(fitted(16, counts_of({0x1p-20}), settings), 1000);
  EXPECT_EQ(fitted(1, counts_of({0x1p-149})), 0x1p127);
  EXPECT_EQ(fitted(0x1p-120f, counts_of({0x1p127})), 0x1p-126);
}

TEST(HistogramScale, GrowsByTheFactorWhereAllGradientsAreZero) {
  EXPECT_EQ(fitted(8, {}), 16);
  EXPECT_EQ(fitted(0x1p127f, {}), 0x1p127);
}

// 'x' is an overflow and '.' is a finite step with gradients of 2^-10, which alone would raise the scale to 2^20.
std::vector<double> replay(const ScalerSettings& settings, float initial, const std::string& steps) {
  ScalerState state;
  state.scale = initial;
  std::vector<double> scales;
  for (const char step : steps) {
    state.found_inf = step == 'x' ? 1.0f : 0.0f;
    const Counts counts = counts_of({state.scale * 0x1p-10});
    update_scale(settings, state, counts.data());
    scales.push_back(state.scale);
  }
  return scales;
}

TEST(HistogramScale, JumpsOnceAndAfterAnOverflowRisesByTheFactorAlone) {
  ScalerSettings settings = fitted_each_step();
  EXPECT_EQ(replay(settings, 1, "..xx..x...."), (std::vector<double>{0x1p20, 0x1p20, 0x1p19, 0x1p18, 0x1p19, 0x1p20,
                                                                     0x1p19, 0x1p20, 0x1p20, 0x1p20, 0x1p20}));
  settings.growth_interval = 3;
  EXPECT_EQ(replay(settings, 1, "..x...."), (std::vector<double>{1, 1, 0.5, 0.5, 0.5, 1, 1}));
}

TEST(HistogramScale, RisesToWhereNoCeilingIsNeeded) {
  ScalerSettings settings = fitted_each_step();
  settings.max_scale = std::numeric_limits<double>::infinity();
  ScalerState state;
  state.ceiling = 0x1p126f;
  const Counts counts = counts_of({1.0});
  update_scale(settings, state, counts.data());
  EXPECT_EQ(state.ceiling, 0x1p127f);
  update_scale(settings, state, counts.data());
  EXPECT_EQ(state.ceiling, 0.0f);
}

TEST(HistogramScale, LeavesNoCountsBehind) {
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  ScalerState state;
  for (const float found_inf : {0.0f, 1.0f}) {
    Counts counts = counts_of({1.0, 3.0});
    state.found_inf = found_inf;
    EXPECT_TRUE(cpu::kOptimKernels.update_scale(stream, fitted_each_step(), &state, counts.data()).ok());
    EXPECT_EQ(counts, Counts{});
  }
  EXPECT_TRUE(cpu::kOptimKernels.update_scale(stream, {}, &state, nullptr).ok());
}

}  // namespace
}  // namespace halftone
