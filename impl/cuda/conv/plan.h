// The way of a convolution: by loops that read their operands out of the images, or by matrix products of columns, and
// how either is cut. Pure functions, safe from any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/kernels/conv.h"
#include "cuda/gemm/tiles.h"

namespace halftone::cuda {

// How the loops cut the gradient of the weight: its sums run over all positions of all images, which is far longer than
// the gradient is large, so several blocks share them, and their parts are added in order.
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

// With fewer rows, or a smaller depth, most of a product's tiles would be empty: depthwise convolutions, few channels.
inline constexpr int64_t kLeastRows = 16;
// With fewer multiplications in the product of a tile, its launch takes longer than the loops: many small groups.
inline constexpr int64_t kLeastWork = int64_t{1} << 19;
// Bytes of columns and sums for each multiprocessor: 66 MiB on an H100.
inline constexpr int64_t kColumnBytes = int64_t{512} << 10;
// Positions of a tile that is a part of an image are a multiple of this, so that its rows stay aligned.
inline constexpr int64_t kTilePositions = 64;

// A convolution's columns hold, for each position of the output, the elements under its window in all groups. They are
// made for one tile of positions after the other; positions count through all images.
struct ColumnPlan {
  bool is_used = false;  // else the loops do it all
  int64_t length = 0;    // positions of each tile but the last one
};

// True if the elements of a plane lie as the columns of a window of one element would.
inline bool has_dense_planes(const View& images) {
  return (images.shape[3] == 1 || images.strides[3] == 1) &&
         (images.shape[2] == 1 || images.strides[2] == images.shape[3]);
}

// True if the columns of the input are the input itself, image by image.
inline bool has_input_as_columns(const ConvArgs& args) {
  const ConvWindow& window = args.window;
  return args.weight.shape[2] * args.weight.shape[3] == 1 && window.stride[0] * window.stride[1] == 1 &&
         window.padding[0] + window.padding[1] == 0 && has_dense_planes(args.input);
}

struct ConvSizes {
  int64_t groups = 1;
  int64_t outputs = 0;  // channels of a group
  int64_t depth = 0;    // elements under a window, in one group
  int64_t images = 0;
  int64_t plane = 0;         // positions of the output in one image
  bool is_in_place = false;  // the products of one image can read all that is read without columns
};

inline ConvSizes conv_sizes(ConvPass pass, const ConvArgs& args) {
  return {.groups = args.groups,
          .outputs = args.weight.shape[0] / args.groups,
          .depth = args.weight.shape[1] * args.weight.shape[2] * args.weight.shape[3],
          .images = args.output.shape[0],
          .plane = args.output.shape[2] * args.output.shape[3],
          .is_in_place = (pass == ConvPass::kGradInput || has_input_as_columns(args)) &&
                         (pass == ConvPass::kForward || has_dense_planes(args.output))};
}

// True if the product of one image has a tile of cuBLASLt, of 128 x 128 elements or so, for each multiprocessor.
inline bool fills_device(int multiprocessors, ConvPass pass, const ConvSizes& sizes) {
  const auto tiles = [](int64_t size) { return (size + 127) / 128; };
  if (pass == ConvPass::kGradWeight) return tiles(sizes.outputs) * tiles(sizes.depth) >= multiprocessors;
  const int64_t rows = pass == ConvPass::kForward ? sizes.outputs : sizes.depth;
  return tiles(rows) * tiles(sizes.plane) >= multiprocessors;
}

// Positions of a tile; 0 if not one fits. `element` is the size of the widest number in columns and sums. The gradient
// of the input adds what several windows give to an element, so its tiles are whole images.
inline int64_t tile_length(int multiprocessors, ConvPass pass, const ConvSizes& sizes, int64_t element) {
  const int64_t positions = sizes.images * sizes.plane;
  const int64_t most = kColumnBytes * multiprocessors / (sizes.groups * (sizes.outputs + sizes.depth) * element);
  if (sizes.is_in_place && sizes.plane <= most && fills_device(multiprocessors, pass, sizes)) {
    return std::min(sizes.plane, positions);
  }
  if (positions <= most) return positions;
  if (sizes.plane <= most) return most / sizes.plane * sizes.plane;
  return pass == ConvPass::kGradInput ? 0 : most / kTilePositions * kTilePositions;
}

inline ColumnPlan column_plan(int multiprocessors, ConvPass pass, const ConvSizes& sizes, int64_t element) {
  if (sizes.outputs < kLeastRows || sizes.depth < kLeastRows) return {};
  const int64_t length = tile_length(multiprocessors, pass, sizes, element);
  if (sizes.outputs * sizes.depth * length < kLeastWork) return {};
  return {.is_used = true, .length = length};
}

inline ColumnPlan column_plan(int multiprocessors, ConvPass pass, const ConvArgs& args) {
  const int64_t element = args.weight.dtype == DType::kF64 ? sizeof(double) : sizeof(float);
  return column_plan(multiprocessors, pass, conv_sizes(pass, args), element);
}

}  // namespace halftone::cuda
