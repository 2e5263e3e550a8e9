#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/optim/grad_norm.cpp"
#include "backend/cpu/optim/grad_norm.h"

#include <bit>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/optim/chunk_loop.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "backend/cpu/optim/gradient_tiles.h"
#include "backend/cpu/reduce/pairwise.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// In double, where squares of FP32 are exact and neither overflow (1e20) nor vanish (1e-30). An element that is not
// finite makes the sum infinite or NaN, and nothing else does: this sum is the finite check as well.
double sum_of_squares(const float* HWY_RESTRICT tile, int64_t count) {
  return sum_of_block<double>(count, [tile](int64_t i) {
    const double element = tile[i];
    return element * element;
  });
}

}  // namespace

void sum_chunks(ThreadPool& pool, const MultiTensor<GradSlot>& gradients, double* partials) {
  for_each_chunk(pool, gradients, [&](const GradSlot& slot, const Chunk& chunk, int64_t index) {
    double sum = 0.0;
    for_each_gradient_tile(slot.grad, slot.grad_dtype, chunk,
                           [&](const float* tile, int64_t, int64_t count) { sum += sum_of_squares(tile, count); });
    partials[index] = sum;
  });
}

// What the first element of a chunk that is not finite is; looked at only where the chunk's sum was not.
NotFinite first_not_finite(const GradSlot& slot, const Chunk& chunk) {
  NotFinite kind = NotFinite::kNothing;
  for_each_gradient_tile(slot.grad, slot.grad_dtype, chunk, [&](const float* tile, int64_t, int64_t count) {
    for (int64_t i = 0; i < count && kind == NotFinite::kNothing; ++i) {
      const uint32_t magnitude = std::bit_cast<uint32_t>(tile[i]) & 0x7fffffff;
      if (magnitude >= 0x7f800000) kind = magnitude == 0x7f800000 ? NotFinite::kInfinity : NotFinite::kNan;
    }
  });
  return kind;
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {
namespace {

// On bits, which no compiler option can assume away.
bool is_finite(double value) { return (std::bit_cast<uint64_t>(value) >> 52 & 0x7ff) != 0x7ff; }

}  // namespace

HWY_EXPORT(sum_chunks);
HWY_EXPORT(first_not_finite);

Status grad_norm(Stream& stream, const MultiTensor<GradSlot>& gradients, double* partials,
                 OptimizerState* state) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_chunks)(pool_of(stream), gradients, partials);
  double sum = 0.0;
  int64_t offending_chunk = -1;
  for (int64_t i = 0; i < gradients.chunk_count; ++i) {
    sum += partials[i];
    if (offending_chunk < 0 && !is_finite(partials[i])) offending_chunk = i;
  }
  state->grad_norm_squared = sum;
  state->found_inf = offending_chunk < 0 ? 0.0f : 1.0f;
  state->offending_parameter = -1;
  state->offending_kind = NotFinite::kNothing;
  if (offending_chunk < 0) return {};
  const Chunk& chunk = gradients.chunks[offending_chunk];
  const GradSlot& slot = gradients.slots[chunk.slot];
  state->offending_parameter = slot.parameter;
  state->offending_kind = HWY_DYNAMIC_DISPATCH(first_not_finite)(slot, chunk);
  return {};
}

}  // namespace halftone::cpu
#endif
