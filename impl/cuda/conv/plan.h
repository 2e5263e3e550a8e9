// How the gradient of a convolution's weight is cut: its sums run over all positions of all images, which is far longer
// than the gradient is large, so several blocks share them, and their parts are added in order. Pure functions, safe
// from any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/kernels/conv.h"
#include "cuda/gemm/tiles.h"

namespace halftone::cuda {

// Positions that one part of a sum has at least.
inline constexpr int64_t kLeastPart = 512;

struct WeightParts {
  int64_t count = 1;
  int64_t length = 0;  // positions of each part but the last one; a multiple of kTileDepth
};

// `tiles` are those of the gradient, in all groups.
inline WeightParts weight_parts(int multiprocessors, int64_t tiles, int64_t positions) {
  const int64_t wanted = std::max<int64_t>(1, 2 * static_cast<int64_t>(multiprocessors) / std::max<int64_t>(1, tiles));
  const int64_t possible = std::max<int64_t>(1, positions / kLeastPart);
  const int64_t count = std::min(wanted, possible);
  const int64_t length = (positions + count - 1) / count;
  const int64_t rounded = (length + kTileDepth - 1) / kTileDepth * kTileDepth;
  return {.count = rounded == 0 ? 1 : std::max<int64_t>(1, (positions + rounded - 1) / rounded), .length = rounded};
}

inline WeightParts weight_parts(int multiprocessors, const ConvArgs& args) {
  const int64_t rows = args.weight.shape[0] / args.groups;
  const int64_t columns = args.weight.shape[1] * args.weight.shape[2] * args.weight.shape[3];
  const int64_t positions = args.output.shape[0] * args.output.shape[2] * args.output.shape[3];
  return weight_parts(multiprocessors, args.groups * tiles_of(rows, columns), positions);
}

}  // namespace halftone::cuda
