// Indices of the true elements. Each block writes those of one part of the mask, and counts the ones before it itself.
#include "cuda/base/block.h"
#include "cuda/base/launch.h"
#include "cuda/select/entries.h"

namespace halftone::cuda {
namespace {

constexpr int64_t kLeastPart = 1 << 16;
constexpr int64_t kMostParts = 256;

HALFTONE_DEVICE void write_place(const Shape& shape, int64_t element, int64_t* place) {
  for (int d = shape.rank() - 1; d >= 0; --d) {
    place[d] = element % shape[d];
    element /= shape[d];
  }
}

HALFTONE_DEVICE int64_t count_true(const uint8_t* mask, int64_t end) {
  int64_t count = 0;
  for (int64_t i = threadIdx.x; i < end; i += blockDim.x) count += mask[i] != 0 ? 1 : 0;
  return sum_block(count);
}

// The number of true elements of the block's threads before this one, and of all of them.
struct Rank {
  int before;
  int all;
};
HALFTONE_DEVICE Rank rank_in_block(bool is_true) {
  __shared__ int of_warps[kMostWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const unsigned votes = __ballot_sync(kAllLanes, is_true);
  __syncthreads();  // the numbers before may still be read
  if (lane == 0) of_warps[warp] = __popc(votes);
  __syncthreads();
  Rank rank = {__popc(votes & ((1u << lane) - 1)), 0};
  for (int w = 0; w < warps; ++w) {
    if (w < warp) rank.before += of_warps[w];
    rank.all += of_warps[w];
  }
  return rank;
}

// Block: part blockIdx.x of the mask.
HALFTONE_KERNEL nonzero_kernel(const uint8_t* mask, Shape shape, int64_t* places, int64_t part, int64_t count) {
  const int64_t begin = blockIdx.x * part;
  const int64_t end = begin + part < count ? begin + part : count;
  int64_t row = count_true(mask, begin);
  for (int64_t first = begin; first < end; first += blockDim.x) {
    const int64_t i = first + threadIdx.x;
    const bool is_true = i < end && mask[i] != 0;
    const Rank rank = rank_in_block(is_true);
    if (is_true) write_place(shape, i, places + (row + rank.before) * shape.rank());
    row += rank.all;
  }
}

}  // namespace

Status nonzero(Stream& stream, const View& mask, const View& out) noexcept {
  const int64_t count = mask.numel();
  if (count == 0 || out.numel() == 0) return {};
  const int64_t part = std::max(kLeastPart, (count + kMostParts - 1) / kMostParts);
  return launch(stream, {.blocks = (count + part - 1) / part, .threads = kThreads}, nonzero_kernel,
                static_cast<const uint8_t*>(mask.data), mask.shape, static_cast<int64_t*>(out.data), part, count);
}

}  // namespace halftone::cuda
