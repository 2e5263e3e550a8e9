// The 16-bit copy of the weights in a pass so large that it is written with non-temporal stores.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "backend/chunks.h"
#include "core/number/bfloat16.h"
#include "core/number/float16.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr int64_t kSize = kChunkSize + 2 * kBlockSize + 7;
constexpr int64_t kMargin = 64;  // elements before and after the copy
constexpr uint16_t kGuard = 0xa5a5;

uint16_t rounded(float value, DType dtype) {
  return dtype == DType::kF16 ? Float16::from(value).bits : BFloat16::from(value).bits;
}

// One parameter whose copy begins `shift` elements after a cache line boundary.
void expect_exact_copy(DType dtype, int64_t shift, int threads) {
  std::vector<float> grad(kSize), master(kSize), moment1(kSize), moment2(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    grad[static_cast<size_t>(i)] = static_cast<float>(i % 101 - 50) * 0.01f;
    master[static_cast<size_t>(i)] = static_cast<float>(i % 1009) * 0.001f - 0.5f;
  }
  std::vector<uint16_t> memory(static_cast<size_t>(kSize + 3 * kMargin), kGuard);
  const size_t to_line = (64 - std::bit_cast<uintptr_t>(memory.data()) % 64) % 64 / sizeof(uint16_t);
  uint16_t* copy = memory.data() + to_line + kMargin + shift;
  const UpdateSlot slot = {.grad = grad.data(),
                           .master = master.data(),
                           .compute = copy,
                           .remainder = nullptr,
                           .moment1 = {moment1.data(), nullptr, DType::kF32},
                           .moment2 = {moment2.data(), nullptr, DType::kF32},
                           .moment3 = {},
                           .grad_dtype = DType::kF32,
                           .compute_dtype = dtype,
                           .size = kSize,
                           .group = 0,
                           .parameter = 0,
                           .seed = 1,
                           .first_block = 0};
  UpdateSlot large = slot;  // makes the pass a large one, but the plan has no chunk of it
  large.size = int64_t{1} << 30;
  const UpdateSlot slots[] = {slot, large};
  const std::vector<Chunk> chunks = plan_chunks(std::vector<int64_t>{kSize});
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  const AdamwGroup group = {1e-3, 0.9, 0.999, 1e-8, 0.01};
  OptimizerState state;
  state.step = 1;
  const MultiTensor<UpdateSlot> list = {slots, chunks.data(), 2, static_cast<int64_t>(chunks.size())};
  ASSERT_TRUE(cpu::kOptimKernels.adamw(stream, list, &group, &state).ok());
  for (int64_t i = 0; i < kSize; ++i) {
    ASSERT_EQ(copy[i], rounded(master[static_cast<size_t>(i)], dtype)) << i;
  }
  for (int64_t i = 1; i <= kMargin; ++i) {
    ASSERT_EQ(copy[-i], kGuard);
    ASSERT_EQ(copy[kSize - 1 + i], kGuard);
  }
}

TEST(WeightCopy, OfALargePassIsTheMasterRounded) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      for (const int64_t shift : {0, 1, 32}) expect_exact_copy(dtype, shift, 2);
    }
  });
}

}  // namespace
}  // namespace halftone
