#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/optim/grad_norm.cpp"
#include "cpu/optim/entries.h"

#include <bit>

#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/optim/chunk_loop.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/optim/gradient_tiles.h"
#include "cpu/rows/pairwise.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Sums the squares of kBlockSize elements in memory, in registers; adds in the order of sum_of_block. The square of a
// float is exact in double, so a fused multiply-add gives the bits of a product and a sum.
template <class T>
HWY_INLINE double sum_of_squares_of_block(const T* HWY_RESTRICT in) {
  constexpr int64_t kRow = 32;
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> df;
  constexpr int64_t kLanes = hn::MaxLanes(dd);
  constexpr int64_t kVectors = kRow / kLanes;
  const auto element = [&](int64_t i) HWY_ATTR { return hn::PromoteTo(dd, widen(df, in + i)); };
  hn::Vec<decltype(dd)> sums[kVectors];
#pragma GCC unroll 32
  for (int64_t v = 0; v < kVectors; ++v) {
    const auto first = element(v * kLanes);
    sums[v] = hn::Mul(first, first);
  }
  for (int64_t row = kRow; row < kBlockSize; row += kRow) {
#pragma GCC unroll 32
    for (int64_t v = 0; v < kVectors; ++v) {
      const auto next = element(row + v * kLanes);
      sums[v] = hn::MulAdd(next, next, sums[v]);
    }
  }
#pragma GCC unroll 5
  for (int64_t half = kVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 16
    for (int64_t v = 0; v < half; ++v) sums[v] = hn::Add(sums[v], sums[v + half]);
  }
  HWY_ALIGN double lanes[kLanes];
  hn::Store(sums[0], dd, lanes);
  return fold(lanes, kLanes);
}

// Adds block sums as formula/norm_tree.h does within a chunk.
class BlockSums {
 public:
  void add(double sum) {
    int64_t number = count_++;
    int level = 0;
    for (; number % 2 != 0; number /= 2) sum = levels_[level++] + sum;
    levels_[level] = sum;
  }
  // Missing blocks are zeros.
  double total() const {
    double sum = 0.0;
    for (int level = 0; count_ >> level != 0; ++level) {
      if ((count_ >> level & 1) != 0) sum = levels_[level] + sum;
    }
    return sum;
  }

 private:
  int64_t count_ = 0;
  double levels_[8];  // a chunk has at most 64 blocks
};
static_assert(kChunkSize / kBlockSize <= 64);

double sum_of_chunk(const GradSlot& slot, const Chunk& chunk) {
  BlockSums sums;
  int64_t begin = chunk.begin;
  try_visit_dtype(TypeList<float, Float16, BFloat16>{}, slot.grad_dtype, [&]<class T>() {
    const T* const grad = static_cast<const T*>(slot.grad);
    for (; chunk.end - begin >= kBlockSize; begin += kBlockSize) sums.add(sum_of_squares_of_block(grad + begin));
  });
  for_each_gradient_tile(slot.grad, slot.grad_dtype, {chunk.slot, begin, chunk.end},
                         [&](const float* tile, int64_t, int64_t count) { sums.add(sum_of_squares(tile, count)); });
  return sums.total();
}

}  // namespace

void sum_chunks(ThreadPool& pool, const MultiTensor<GradSlot>& gradients, double* partials) {
  for_each_chunk(pool, gradients, [&](const GradSlot& slot, const Chunk& chunk, int64_t index) {
    partials[index] = sum_of_chunk(slot, chunk);
  });
}

// Returns the kind of the first element that is not finite. Called only for a chunk whose sum was not finite.
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

// Tests the bits, which no compiler option can optimise away.
bool is_finite(double value) { return (std::bit_cast<uint64_t>(value) >> 52 & 0x7ff) != 0x7ff; }

void find_largest(const MultiTensor<GradSlot>& gradients, const double* partials, OptimizerState& state) {
  for (int64_t i = 0; i < gradients.chunk_count; ++i) {
    if (!(partials[i] > state.largest_partial)) continue;
    state.largest_partial = partials[i];
    state.largest_parameter = gradients.slots[gradients.chunks[i].slot].parameter;
  }
}

}  // namespace

HWY_EXPORT(sum_chunks);
HWY_EXPORT(first_not_finite);

Status grad_norm(Stream& stream, const MultiTensor<GradSlot>& gradients, double* partials,
                 OptimizerState* state) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_chunks)(pool_of(stream), gradients, partials);
  int64_t offending_chunk = -1;
  for (int64_t i = 0; i < gradients.chunk_count && offending_chunk < 0; ++i) {
    if (!is_finite(partials[i])) offending_chunk = i;
  }
  state->found_inf = offending_chunk < 0 ? 0.0f : 1.0f;
  state->offending_parameter = -1;
  state->offending_kind = NotFinite::kNothing;
  state->largest_parameter = -1;
  state->largest_partial = 0.0;
  if (offending_chunk < 0) {
    find_largest(gradients, partials, *state);
    return {};
  }
  const Chunk& chunk = gradients.chunks[offending_chunk];
  const GradSlot& slot = gradients.slots[chunk.slot];
  state->offending_parameter = slot.parameter;
  state->offending_kind = HWY_DYNAMIC_DISPATCH(first_not_finite)(slot, chunk);
  return {};
}

}  // namespace halftone::cpu
#endif
