// The summary of an update counts every weight once, by its values, whatever the dtypes, the layout and the number of
// threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr DType kWeightDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E5M2};
constexpr int kLeastExponent = -127;  // of all numbers below 2^-126

// floor(log2(|value|)), and -127 for smaller numbers than 2^-126.
int exponent_of(float value) { return value == 0 ? kLeastExponent : std::max(kLeastExponent, std::ilogb(value)); }

// From the values, not from their bit patterns.
void add_weight(float before, float after, float gradient, UpdateSummary& summary) {
  if (!std::isfinite(before) || !std::isfinite(after) || !std::isfinite(gradient)) {
    ++summary.not_finite;
  } else if (before == after) {
    ++(gradient != 0 ? summary.lost : summary.still);
  } else {
    ++summary.ratios[std::clamp(exponent_of(before) - exponent_of(after - before), 0, kRatioBins - 1)];
  }
}

// The tensors of one update.
struct Update {
  HostTensor before;
  HostTensor after;
  HostTensor gradient;

  Update(DType weights, DType gradients, const Shape& shape, const Shape& strides)
      : before(weights, shape, strides), after(weights, shape), gradient(gradients, shape, strides) {}

  void set(int64_t i, double weight, double changed, double slope) {
    before.set(i, weight);
    after.set(i, changed);
    gradient.set(i, slope);
  }
  UpdateSummary expected() const {
    UpdateSummary summary;
    for (int64_t i = 0; i < before.numel(); ++i) {
      add_weight(static_cast<float>(before.get(i)), static_cast<float>(after.get(i)),
                 static_cast<float>(gradient.get(i)), summary);
    }
    return summary;
  }
  void add_to(UpdateSummary& summary, int threads = 1) const {
    ThreadPool pool(threads);
    cpu::CpuStream stream(pool);
    const Status status =
        cpu::kStatisticsKernels.summarize_update(stream, before.view(), after.view(), gradient.view(), &summary);
    EXPECT_TRUE(status.ok());
  }
  UpdateSummary summarized(int threads = 1) const {
    UpdateSummary summary;
    add_to(summary, threads);
    return summary;
  }
};

// Weights and updates of many magnitudes, weights that stay, zeros of both signs, subnormal numbers, Inf and NaN.
void fill_wildly(Update& update) {
  const double special[] = {0.0, -0.0, kInf, -kInf, kNoNumber, 0x1p-149, -0x1p-130, 1.0, 448, 3e38};
  update.before.fill_uniform(-2, 2, 1);
  update.gradient.fill_uniform(-1, 1, 2);
  for (int64_t i = 0; i < update.before.numel(); ++i) {
    if (i % 7 == 0) update.before.set(i, special[i / 7 % 10]);
    if (i % 11 == 0) update.gradient.set(i, special[i / 11 % 10]);
    const double weight = update.before.get(i);
    const bool stays = i % 5 == 0;
    update.after.set(i, stays ? weight : weight + std::ldexp(update.gradient.get(i), -static_cast<int>(i * 13 % 90)));
    if (i % 17 == 0) update.after.set(i, special[i / 17 % 10]);
  }
}

Update wild_update(DType weights, DType gradients, const Shape& shape, const Shape& strides) {
  Update update(weights, gradients, shape, strides);
  fill_wildly(update);
  return update;
}

TEST(SummarizeUpdate, CountsEveryWeightForEveryDtypeAndSize) {
  for_each_instruction_set([] {
    for (const DType weights : kWeightDtypes) {
      for (const DType gradients : {DType::kF32, DType::kBF16, DType::kF16}) {
        for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{513}, int64_t{70001}}) {
          const Update update = wild_update(weights, gradients, {size}, {1});
          ASSERT_EQ(update.summarized(), update.expected()) << name_of(weights) << " " << size;
        }
      }
    }
  });
}

TEST(SummarizeUpdate, ReadsEveryLayout) {
  for_each_instruction_set([] {
    for (const Shape& strides : {Shape{1, 71}, Shape{96, 1}, Shape{90, 1}}) {
      const Update update = wild_update(DType::kF32, DType::kBF16, {70, 90}, strides);
      ASSERT_EQ(update.summarized(), update.expected());
    }
  });
}

TEST(SummarizeUpdate, IsTheSameOnAnyNumberOfThreadsAndAddsUp) {
  const Update update = wild_update(DType::kBF16, DType::kF32, {200001}, {1});
  const UpdateSummary once = update.expected();
  for (const int threads : {1, 2, 7}) EXPECT_EQ(update.summarized(threads), once) << threads;
  UpdateSummary twice;
  update.add_to(twice);
  update.add_to(twice);
  EXPECT_EQ(twice.lost, 2 * once.lost);
  EXPECT_EQ(twice.ratios[0], 2 * once.ratios[0]);
}

// The place of one weight in a summary.
struct Place {
  double before;
  double after;
  double gradient;
  int kind;  // a bin, or kLostUpdate and so on
};

UpdateSummary summary_with(int kind) {
  UpdateSummary summary;
  if (kind < kRatioBins) summary.ratios[kind] = 1;
  summary.lost = kind == kLostUpdate ? 1 : 0;
  summary.still = kind == kStillWeight ? 1 : 0;
  summary.not_finite = kind == kNotFiniteUpdate ? 1 : 0;
  return summary;
}

TEST(SummarizeUpdate, HasAPlaceForEveryKindOfWeight) {
  const Place places[] = {
      {1.0, 1.0, 0.5, kLostUpdate},
      {1.0, 1.0, -0x1p-149, kLostUpdate},
      {0.0, -0.0, 0x1p-149, kLostUpdate},  // zeros are equal, whatever their sign
      {1.0, 1.0, 0.0, kStillWeight},
      {1.0, 1.0, -0.0, kStillWeight},
      {0.0, 0.0, 0.0, kStillWeight},
      {1.0, 1.5, 0.0, 1},  // weight decay and momentum move a weight without a gradient
      {1.0, 2.0, -1.0, 0},
      {1.0, 1.0 + 0x1p-23, 1.0, 23},
      {-1.0, -1.0 - 0x1p-10, 1.0, 10},
      {2.0, 2.0 - 0x1p-22, 1.0, 23},
      {1.0, -1.0, 1.0, 0},           // a larger update than the weight
      {0.0, 0x1p-3, 1.0, 0},         // from 0 any update is
      {0x1p-149, 0.0, 1.0, 0},       // subnormal weight and update count as equal
      {0x1p-126, 0x1p-127, 1.0, 1},  // a subnormal update of the smallest normal weight
      {3e38, 0.0, 1.0, 0},
      {0x1p100, -0x1p100, 1.0, 0},
      {kInf, 1.0, 1.0, kNotFiniteUpdate},
      {1.0, kInf, 1.0, kNotFiniteUpdate},
      {kInf, kInf, 0.0, kNotFiniteUpdate},
      {kNoNumber, kNoNumber, 0.0, kNotFiniteUpdate},
      {1.0, 1.0, kNoNumber, kNotFiniteUpdate},
      {1.0, 1.0, -kInf, kNotFiniteUpdate},
      {3.4e38, -3.4e38, 1.0, 0},  // the difference overflows, the weights do not
  };
  for (const Place& place : places) {
    Update update(DType::kF32, DType::kF32, {1}, {1});
    update.set(0, place.before, place.after, place.gradient);
    EXPECT_EQ(update.summarized(), summary_with(place.kind)) << place.before << " to " << place.after;
  }
}

// Rounding to m mantissa bits loses an update of less than half the distance to the next number.
TEST(SummarizeUpdate, TellsWhatOtherMantissasWouldLose) {
  Update update(DType::kF32, DType::kF32, {24}, {1});
  for (int d = 0; d < 24; ++d) update.set(d, 1.0, 1.0 + std::ldexp(1.0, -d), 1.0);
  const UpdateSummary summary = update.summarized();
  EXPECT_EQ(lost_updates(summary, 23), 0);
  EXPECT_EQ(lost_updates(summary, 10), 12);  // from 2^-12 to 2^-23: half of FP16's step is 2^-11
  EXPECT_EQ(lost_updates(summary, 7), 15);
  UpdateSummary with_lost = summary;
  with_lost.lost = 3;
  EXPECT_EQ(lost_updates(with_lost, 7), 18);
}

}  // namespace
}  // namespace halftone
