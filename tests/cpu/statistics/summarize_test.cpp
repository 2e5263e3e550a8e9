// A summary counts every element once by its magnitude, whatever the dtype, the layout and the number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backend/chunks.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr DType kFloats[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};

// From the values, not from their bit patterns. Adds to `summary`.
void add_reference(const HostTensor& tensor, TensorSummary& summary) {
  Extremes<int64_t>& extremes = summary.extremes;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const float value = std::fabs(static_cast<float>(tensor.get(i)));
    if (std::isnan(value)) {
      ++extremes.nans;
    } else if (std::isinf(value)) {
      ++extremes.infinities;
    } else if (value == 0.0f) {
      ++extremes.zeros;
    } else {
      ++summary.exponents[std::max(0, std::ilogb(value) + 127)];
      extremes.largest = magnitude_of(std::fmax(summary.amax(), value));
      extremes.least = magnitude_of(std::fmin(summary.amin(), value));
    }
  }
}

TensorSummary reference(const std::vector<const HostTensor*>& tensors) {
  TensorSummary summary;
  for (const HostTensor* tensor : tensors) add_reference(*tensor, summary);
  return summary;
}

TensorSummary summarized(const View& view, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  TensorSummary summary;
  EXPECT_TRUE(cpu::kStatisticsKernels.summarize(stream, view, &summary).ok());
  return summary;
}

TensorSummary summarized(const std::vector<const HostTensor*>& gradients, int threads = 1, int32_t condition = 1) {
  std::vector<GradSlot> slots;
  std::vector<int64_t> sizes;
  for (const HostTensor* gradient : gradients) {
    slots.push_back({gradient->data(), gradient->view().dtype, static_cast<int32_t>(slots.size()), gradient->numel()});
    sizes.push_back(gradient->numel());
  }
  const std::vector<Chunk> chunks = plan_chunks(sizes);
  const MultiTensor<GradSlot> list = {slots.data(), chunks.data(), static_cast<int64_t>(slots.size()),
                                      static_cast<int64_t>(chunks.size())};
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  TensorSummary summary;
  EXPECT_TRUE(cpu::kStatisticsKernels.summarize_gradients(stream, list, &condition, &summary).ok());
  return summary;
}

// Magnitudes over the whole range of the dtype, zeros of both signs, Inf and NaN.
void fill_wildly(HostTensor& tensor, uint32_t seed) {
  tensor.fill_uniform(-1, 1, seed);
  const double special[] = {0.0, -0.0, kInfinity, -kInfinity, std::nan(""), 0x1p-149, -0x1p-24, 448, 65504, 3e38};
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const int64_t kind = i % 23;
    if (kind < 10) tensor.set(i, special[kind]);
    if (kind >= 14) tensor.set(i, std::ldexp(tensor.get(i), static_cast<int>(i * 7 % 280) - 150));
  }
}

HostTensor wild_tensor(DType dtype, const Shape& shape, const Shape& strides, uint32_t seed = 3) {
  HostTensor tensor(dtype, shape, strides);
  fill_wildly(tensor, seed);
  return tensor;
}

HostTensor wild_tensor(DType dtype, int64_t size, uint32_t seed = 3) { return wild_tensor(dtype, {size}, {1}, seed); }

TEST(Summarize, CountsEveryElementForEveryDtypeAndSize) {
  for_each_instruction_set([] {
    for (const DType dtype : kFloats) {
      for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{513}, 2 * kChunkSize + 1}) {
        const HostTensor tensor = wild_tensor(dtype, size);
        ASSERT_EQ(summarized(tensor.view()), reference({&tensor})) << name_of(dtype) << " " << size;
      }
    }
  });
}

TEST(Summarize, ReadsEveryLayoutAndLeavesGapsOut) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const HostTensor transposed = wild_tensor(dtype, {70, 90}, {1, 71});
      ASSERT_EQ(summarized(transposed.view()), reference({&transposed}));
      const HostTensor rows = wild_tensor(dtype, {300, 77}, {80, 1});
      ASSERT_EQ(summarized(rows.view()), reference({&rows}));
      const HostTensor repeated = wild_tensor(dtype, {3000}, {0});
      ASSERT_EQ(summarized(repeated.view()), reference({&repeated}));
    }
  });
}

TEST(Summarize, AddsUpOverAListOnAnyNumberOfThreads) {
  const HostTensor a = wild_tensor(DType::kF32, 5 * kChunkSize + 5, 1), b = wild_tensor(DType::kBF16, 257, 2);
  const HostTensor c = wild_tensor(DType::kF16, 2 * kChunkSize, 3), none(DType::kF32, {0});
  const TensorSummary expected = reference({&a, &b, &none, &c});
  for (const int threads : {1, 2, 7}) {
    EXPECT_EQ(summarized({&a, &b, &none, &c}, threads), expected) << threads;
    EXPECT_EQ(summarized(a.view(), threads), reference({&a})) << threads;
  }
}

TEST(Summarize, LeavesGradientsOutWhereTheConditionIsNotMet) {
  const HostTensor gradient = wild_tensor(DType::kF32, 100);
  EXPECT_EQ(summarized({&gradient}, 1, 0), TensorSummary());
}

TEST(Summarize, KeepsThatOfAnEarlierTensor) {
  const HostTensor a = wild_tensor(DType::kF32, 100, 1), b = wild_tensor(DType::kF16, 100, 2);
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  TensorSummary summary;
  for (const HostTensor* tensor : {&a, &b}) {
    EXPECT_TRUE(cpu::kStatisticsKernels.summarize(stream, tensor->view(), &summary).ok());
  }
  EXPECT_EQ(summary, reference({&a, &b}));
}

TEST(Summarize, GivesTheExtremesOfFiniteElementsAlone) {
  const double values[] = {kInfinity, -3.0, std::nan(""), 0.0, 0x1p-130, 2.0};
  HostTensor tensor(DType::kF32, {6});
  for (int64_t i = 0; i < 6; ++i) tensor.set(i, values[i]);
  const TensorSummary summary = summarized(tensor.view());
  EXPECT_EQ(summary.amax(), 3.0f);
  EXPECT_EQ(summary.amin(), 0x1p-130f);
  const TensorSummary none;
  EXPECT_EQ(none.amax(), 0.0f);
  EXPECT_EQ(none.amin(), std::numeric_limits<float>::infinity());
}

// The largest subnormal number of each dtype is followed by the smallest normal one.
TEST(Summarize, KnowsTheSubnormalNumbersOfEachDtype) {
  const struct {
    DType dtype;
    double normal;
    double step;
  } formats[] = {{DType::kF32, 0x1p-126, 0x1p-149},
                 {DType::kBF16, 0x1p-126, 0x1p-133},
                 {DType::kF16, 0x1p-14, 0x1p-24},
                 {DType::kF8E4M3, 0x1p-6, 0x1p-9},
                 {DType::kF8E5M2, 0x1p-14, 0x1p-16}};
  for (const auto& format : formats) {
    HostTensor tensor(format.dtype, {4});
    tensor.set(0, format.normal);
    tensor.set(1, format.normal - format.step);
    tensor.set(2, format.step);
    tensor.set(3, 0.0);
    EXPECT_EQ(subnormals_of(summarized(tensor.view()), format.dtype), 2) << name_of(format.dtype);
  }
  HostTensor wide(DType::kF64, {1});
  wide.set(0, 0x1p-140);
  EXPECT_EQ(subnormals_of(summarized(wide.view()), DType::kF64), 0);
}

}  // namespace
}  // namespace halftone
