// The kernels of moving averages, over weights in every storage format.
#include <gtest/gtest.h>

#include "cpu/optim/parameters.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

std::vector<ParameterSpec> forms() {
  std::vector<ParameterSpec> specs;
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{257}, kChunkSize + 3}) {
    specs.push_back({size, DType::kF32, DType::kBF16, true});
    specs.push_back({size, DType::kF32, DType::kF32, false});
    specs.push_back({size, DType::kF32, DType::kBF16, true, 0, DType::kF32, true});
    for (const DType dtype : {DType::kBF16, DType::kF16}) {
      specs.push_back({size, DType::kF32, dtype, true});
      specs.back().has_master = false;
    }
  }
  return specs;
}

void fill_averages(ParameterList& list) {
  uint32_t seed = 100;
  for (auto& p : list.parameters()) p->moment1.fill_uniform(-1, 1, seed++);
}

std::vector<double> values(const HostTensor& tensor, int64_t size) {
  std::vector<double> result;
  for (int64_t i = 0; i < size; ++i) result.push_back(tensor.get(i));
  return result;
}

// The rounding of two subtractions, a product and a sum of numbers below 2 in FP32.
TEST(Average, MovesTowardsTheWeightByTheRate) {
  for_each_instruction_set([] {
    ThreadPool pool(3);
    cpu::CpuStream stream(pool);
    ParameterList list(forms());
    fill_averages(list);
    std::vector<std::vector<double>> before;
    for (auto& p : list.parameters()) before.push_back(values(p->moment1, p->spec.size));
    ASSERT_TRUE(cpu::kOptimKernels.average(stream, list.tensors(), 0.3).ok());
    for (size_t k = 0; k < before.size(); ++k) {
      Streams& p = *list.parameters()[k];
      if (p.spec.splits_master) p.join();
      for (int64_t i = 0; i < p.spec.size; ++i) {
        const double old = before[k][static_cast<size_t>(i)];
        const double now = p.spec.has_master ? p.master.get(i) : p.compute.get(i);
        ASSERT_NEAR(p.moment1.get(i), old + 0.3 * (now - old), 0x1p-22) << k << " " << i;
      }
    }
    EXPECT_TRUE(list.guards_hold());
  });
}

TEST(Average, SwapsWithWeightsToTheBit) {
  for_each_instruction_set([] {
    ThreadPool pool(3);
    cpu::CpuStream stream(pool);
    ParameterList list(forms());
    fill_averages(list);
    std::vector<std::vector<double>> averages, weights;
    for (auto& p : list.parameters()) {
      averages.push_back(values(p->moment1, p->spec.size));
      weights.emplace_back();
      for (int64_t i = 0; i < p->spec.size; ++i) weights.back().push_back(p->spec.has_master ? p->master.get(i) : 0);
    }
    ASSERT_TRUE(cpu::kOptimKernels.swap_average(stream, list.tensors()).ok());
    for (size_t k = 0; k < averages.size(); ++k) {
      Streams& p = *list.parameters()[k];
      if (p.spec.splits_master) p.join();
      for (int64_t i = 0; i < p.spec.size; ++i) {
        const double average = averages[k][static_cast<size_t>(i)];
        HostTensor rounded(p.spec.compute_dtype, {1});
        rounded.set(0, average);
        if (p.spec.has_master) {
          ASSERT_EQ(p.master.get(i), average) << k << " " << i;
          ASSERT_EQ(p.moment1.get(i), weights[k][static_cast<size_t>(i)]) << k << " " << i;
        } else {
          ASSERT_EQ(p.moment1.get(i), average) << k << " " << i;
        }
        if (p.spec.has_compute && !p.spec.splits_master) {
          ASSERT_EQ(p.compute.get(i), rounded.get(0)) << k << " " << i;
        }
      }
    }
    EXPECT_TRUE(list.guards_hold());
  });
}

TEST(Average, GivesTheSameBitsOnAnyNumberOfThreads) {
  std::vector<std::vector<std::byte>> results;
  for (const int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    cpu::CpuStream stream(pool);
    ParameterList list(forms());
    fill_averages(list);
    ASSERT_TRUE(cpu::kOptimKernels.average(stream, list.tensors(), 0.3).ok());
    results.push_back(list.bytes());
  }
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
}

}  // namespace
}  // namespace halftone
