#include <climits>

#include "cuda/base/block.h"
#include "cuda/optim/entries.h"
#include "cuda/optim/ordered_sum.h"

namespace halftone::cuda {
namespace {

// A lane's elements of a tile, one of each row. Those behind the end are 0.
HALFTONE_DEVICE void load_rows(const GradSlot& slot, const Part& part, double (&squares)[kRows]) {
  visit_element_type(slot.grad_dtype, [&]<class T>() {
    const T* elements = static_cast<const T*>(slot.grad) + part.tile_begin;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const int i = row * kWarp + lane_of_thread();
      const double element = i < part.tile_count ? widen<float>(elements[i]) : 0.0f;
      squares[row] = element * element;
    }
  });
}

HALFTONE_DEVICE double sum_of_squares(const GradSlot& slot, const Part& part) {
  double squares[kRows];
  load_rows(slot, part, squares);
  // Adding 0 for a row behind the end changes no bit: no sum of squares is -0.
  double sum = squares[0];
#pragma unroll
  for (int row = 1; row < kRows; ++row) sum += squares[row];
  return sum_of_tile(part.tile_count < kWarp ? part.tile_count : kWarp, [sum](int) { return sum; });
}

// Adds the tiles of a chunk as the nodes of formula/norm_tree.h; tiles behind the end are 0. By one warp.
HALFTONE_DEVICE double sum_of_nodes(const double (&tiles)[kTilesPerChunk]) {
  static_assert(kTilesPerChunk == 2 * kWarp);
  const int lane = lane_of_thread();
  double sum = tiles[2 * lane] + tiles[2 * lane + 1];
  for (int bits = 1; bits < kWarp; bits *= 2) sum += __shfl_xor_sync(kAllLanes, sum, bits);
  return sum;
}

// A block takes a chunk.
HALFTONE_KERNEL sum_chunks(MultiTensor<GradSlot> gradients, double* partials) {
  __shared__ double tiles[kTilesPerChunk];
  for (int64_t i = blockIdx.x; i < gradients.chunk_count; i += gridDim.x) {
    const Chunk& chunk = gradients.chunks[i];
    const GradSlot& slot = gradients.slots[chunk.slot];
    if (threadIdx.x < kTilesPerChunk) tiles[threadIdx.x] = 0.0;
    __syncthreads();
    for_each_tile(chunk, 0, kTilesPerChunk, [&](const Part& part) {
      const double sum = sum_of_squares(slot, part);
      if (lane_of_thread() == 0) tiles[(part.tile_begin - chunk.begin) / kBlockSize] = sum;
    });
    __syncthreads();
    if (warp_of_thread() == 0) {
      const double sum = sum_of_nodes(tiles);
      if (threadIdx.x == 0) partials[i] = sum;
    }
    __syncthreads();
  }
}

struct Largest {
  HALFTONE_DEVICE double operator()(double a, double b) const { return a < b ? b : a; }
};

struct Least {
  HALFTONE_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

// On every thread the first i below `count` with found(i), or INT64_MAX.
template <class F>
HALFTONE_DEVICE int64_t first_of_block(int64_t count, F&& found) {
  int64_t first = INT64_MAX;
  for (int64_t i = threadIdx.x; i < count && first == INT64_MAX; i += blockDim.x) {
    if (found(i)) first = i;
  }
  return reduce_block(first, static_cast<int64_t>(INT64_MAX), Least());
}

// Tests the bits, which no compiler option can optimise away.
HALFTONE_DEVICE bool is_finite(double value) { return (std::bit_cast<uint64_t>(value) >> 52 & 0x7ff) != 0x7ff; }

HALFTONE_DEVICE NotFinite kind_of(float value) {
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  if (magnitude < 0x7f800000) return NotFinite::kNothing;
  return magnitude == 0x7f800000 ? NotFinite::kInfinity : NotFinite::kNan;
}

// On every thread the largest partial sum of all, which are finite; 0 if there is none.
HALFTONE_DEVICE double largest_of_block(int64_t count, const double* partials) {
  double largest = 0.0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) largest = Largest()(largest, partials[i]);
  return reduce_block(largest, 0.0, Largest());
}

// One block looks for the first chunk whose sum is not finite, and for the first such element in it; or else for the
// first chunk with the largest sum.
HALFTONE_KERNEL find_chunks(MultiTensor<GradSlot> gradients, const double* partials, OptimizerState* state) {
  const int64_t index = first_of_block(gradients.chunk_count, [&](int64_t i) { return !is_finite(partials[i]); });
  int32_t parameter = -1;
  NotFinite kind = NotFinite::kNothing;
  if (index != INT64_MAX) {
    const Chunk& chunk = gradients.chunks[index];
    const GradSlot& slot = gradients.slots[chunk.slot];
    const Elements elements = {const_cast<void*>(slot.grad), slot.grad_dtype};
    const auto kind_at = [&](int64_t i) { return kind_of(load<float>(elements, chunk.begin + i)); };
    const int64_t element =
        first_of_block(chunk.end - chunk.begin, [&](int64_t i) { return kind_at(i) != NotFinite::kNothing; });
    parameter = slot.parameter;
    if (element != INT64_MAX) kind = kind_at(element);
  }
  const double largest = index == INT64_MAX ? largest_of_block(gradients.chunk_count, partials) : 0.0;
  const int64_t holder =
      first_of_block(largest > 0.0 ? gradients.chunk_count : 0, [&](int64_t i) { return partials[i] == largest; });
  if (threadIdx.x != 0) return;
  state->largest_partial = largest;
  state->largest_parameter = holder == INT64_MAX ? -1 : gradients.slots[gradients.chunks[holder].slot].parameter;
  state->found_inf = index == INT64_MAX ? 0.0f : 1.0f;
  state->offending_parameter = parameter;
  state->offending_kind = kind;
}

}  // namespace

Status grad_norm(Stream& stream, const MultiTensor<GradSlot>& gradients, double* partials,
                 OptimizerState* state) noexcept {
  Status status = launch(stream, grid_for_rows(gradients.chunk_count, kThreads), sum_chunks, gradients, partials);
  if (!status.ok()) return status;
  return launch(stream, {.blocks = 1, .threads = 1024}, find_chunks, gradients, partials, state);
}

}  // namespace halftone::cuda
