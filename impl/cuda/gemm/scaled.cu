#include "cuda/base/magnitude.h"
#include "cuda/gemm/codes.h"
#include "cuda/gemm/product.h"
#include "cuda/gemm/scaled.h"
#include "cuda/gemm/tiles.h"

namespace halftone::cuda {
namespace {

// The end of a product, as GemmArgs says.
struct ScaledEnd {
  Epilogue end;
  GemmScales scales;
  BlockScales rows, columns;  // scales of sums
  bool quantizes = false;
  float largest = 0;
};

ScaledEnd end_of(const GemmArgs& args) {
  return {.end = epilogue_of(args),
          .scales = args.scales,
          .rows = scales_sums_of_a(args) ? args.a_blocks : BlockScales(),
          .columns = scales_sums_of_b(args) ? args.b_blocks : BlockScales(),
          .quantizes = quantizes_result(args),
          .largest = largest_of(args.c.dtype)};
}

HALFTONE_DEVICE float factor(const float* scale) { return scale == nullptr ? 1.0f : *scale; }

// Returns the magnitude that counts for amax.
HALFTONE_DEVICE uint32_t finish_scaled(const ScaledEnd& end, float scale, int64_t row, int64_t column, float sum) {
  float value = sum * (scale * scale_at(end.rows, row, 0)) * scale_at(end.columns, 0, column);
  if (!end.quantizes) {
    finish<float>(end.end, row, column, value);
    return 0;
  }
  if (end.end.bias.elements.data != nullptr) value += load_at<float>(end.end.bias, 0, column);
  const uint32_t bits = magnitude_bits(value);
  if (end.scales.c != nullptr) value /= *end.scales.c;
  if (end.largest > 0) value = saturated(value, end.largest);
  store_at<float>(end.end.c, row, column, value);
  return bits;
}

// Block: one tile of c. Threads: kThreads.
HALFTONE_KERNEL scaled_kernel(CodeProduct product, ScaledEnd end) {
  const float scale = factor(end.scales.a) * factor(end.scales.b);
  uint32_t most = 0;
  multiply_tile<float>(product, blockIdx.x, 0, product.k, [&](int64_t row, int64_t column, float sum) {
    const uint32_t bits = finish_scaled(end, scale, row, column, sum);
    if (bits > most) most = bits;
  });
  raise(end.scales.amax, most);
}

HALFTONE_KERNEL finish_scaled_kernel(ScaledEnd end, const float* sums, int64_t columns, int64_t count) {
  const float scale = factor(end.scales.a) * factor(end.scales.b);
  uint32_t most = 0;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const uint32_t bits = finish_scaled(end, scale, i / columns, i % columns, sums[i]);
    if (bits > most) most = bits;
  }
  raise(end.scales.amax, most);
}

// Codes of a line that one thread widens.
constexpr int kWidened = 8;

// `out` has dense lines along dimension `along`.
HALFTONE_KERNEL widen_codes_kernel(CodeMatrix in, BFloat16* out, int along, int64_t length, int64_t items) {
  const int64_t in_line = (length + kWidened - 1) / kWidened;
  for (int64_t i = first_item(); i < items; i += item_step()) {
    const int64_t line = i / in_line;
    const int64_t first = i % in_line * kWidened;
    for (int64_t at = first; at < first + kWidened && at < length; ++at) {
      out[line * length + at] = narrow<BFloat16>(along == 1 ? in.value(line, at) : in.value(at, line));
    }
  }
}

template <class T>
HALFTONE_KERNEL arrange_scales_kernel(ScaleOrder order, T* out, int64_t items) {
  for (int64_t i = first_item(); i < items; i += item_step()) {
    const int64_t line = i / order.padded_blocks();
    const int64_t block = i % order.padded_blocks();
    const bool is_inside = line < order.lines && block < order.blocks;
    const T scale = is_inside ? static_cast<const T*>(order.from)[order.source(line, block)] : T{0};
    out[order.place(line, block)] = scale;
  }
}

// Bytes of one side of a tile, which goes through shared memory, so that reads and writes are both along rows.
constexpr int kSide = 64;

struct ByteCopy {
  const uint8_t* from;
  uint8_t* to;
  int64_t rows, columns;  // of `to`, whose rows are dense
  int64_t row_stride, column_stride;
  int64_t tiles_in_row;
};

// Block: one tile. Threads: kThreads. `from` is read along its own rows where its columns are further apart.
HALFTONE_KERNEL copy_bytes_kernel(ByteCopy copy) {
  __shared__ uint8_t tile[kSide][kSide + 4];
  const int64_t row = blockIdx.x / copy.tiles_in_row * kSide;
  const int64_t column = blockIdx.x % copy.tiles_in_row * kSide;
  const bool is_turned = copy.row_stride < copy.column_stride;
  for (int t = static_cast<int>(threadIdx.x); t < kSide * kSide; t += kThreads) {
    const int y = is_turned ? t % kSide : t / kSide;
    const int x = is_turned ? t / kSide : t % kSide;
    if (row + y < copy.rows && column + x < copy.columns) {
      tile[y][x] = copy.from[(row + y) * copy.row_stride + (column + x) * copy.column_stride];
    }
  }
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x); t < kSide * kSide; t += kThreads) {
    const int y = t / kSide;
    const int x = t % kSide;
    if (row + y < copy.rows && column + x < copy.columns) {
      copy.to[(row + y) * copy.columns + column + x] = tile[y][x];
    }
  }
}

HALFTONE_KERNEL invert_kernel(const float* scale, float* out) {
  if (threadIdx.x == 0) *out = 1 / *scale;
}

int64_t sides_in(int64_t size) { return (size + kSide - 1) / kSide; }

}  // namespace

Status multiply_scaled(Stream& stream, const GemmArgs& args) noexcept {
  const CodeProduct product = code_product_of(args);
  const int64_t blocks = tiles_of(product.m, product.n);
  if (blocks > INT32_MAX) return Status::failure(Code::kUnsupported, "a matrix product has more than 2^31 - 1 tiles");
  if (Status status = clear_magnitude(stream, args.scales.amax); !status.ok()) return status;
  return launch(stream, {.blocks = blocks, .threads = kThreads}, scaled_kernel, product, end_of(args));
}

Status finish_scaled_sums(Stream& stream, const GemmArgs& args, const float* sums) noexcept {
  const int64_t count = args.c.numel();
  if (Status status = clear_magnitude(stream, args.scales.amax); !status.ok()) return status;
  return launch(stream, grid_for_items(device_of(stream), count), finish_scaled_kernel, end_of(args), sums,
                args.c.shape[1], count);
}

Status widen_codes(Stream& stream, const View& codes, const BlockScales& scales, const View& out) noexcept {
  const int along = out.strides[1] == 1 ? 1 : 0;
  const int64_t length = out.shape[along];
  const int64_t items = out.shape[1 - along] * ((length + kWidened - 1) / kWidened);
  return launch(stream, grid_for_items(device_of(stream), items), widen_codes_kernel,
                CodeMatrix{matrix_of(codes), scales}, static_cast<BFloat16*>(out.data), along, length, items);
}

Status arrange_scales(Stream& stream, const ScaleOrder& order, void* out) noexcept {
  const int64_t items = order.padded_lines() * order.padded_blocks();
  const Grid grid = grid_for_items(device_of(stream), items);
  if (order.has_bytes()) {
    return launch(stream, grid, arrange_scales_kernel<uint8_t>, order, static_cast<uint8_t*>(out), items);
  }
  return launch(stream, grid, arrange_scales_kernel<float>, order, static_cast<float*>(out), items);
}

Status copy_bytes(Stream& stream, const View& in, const View& out) noexcept {
  const int across = out.strides[1] == 1 ? 1 : 0;  // the dimension of `out` that is dense
  const ByteCopy copy = {.from = static_cast<const uint8_t*>(in.data),
                         .to = static_cast<uint8_t*>(out.data),
                         .rows = out.shape[1 - across],
                         .columns = out.shape[across],
                         .row_stride = in.strides[1 - across],
                         .column_stride = in.strides[across],
                         .tiles_in_row = sides_in(out.shape[across])};
  const int64_t blocks = sides_in(copy.rows) * copy.tiles_in_row;
  if (blocks > INT32_MAX) return Status::failure(Code::kUnsupported, "a matrix has more than 2^31 - 1 tiles");
  return launch(stream, {.blocks = blocks, .threads = kThreads}, copy_bytes_kernel, copy);
}

Status invert(Stream& stream, const float* scale, float* out) noexcept {
  return launch(stream, {.blocks = 1, .threads = 32}, invert_kernel, scale, out);
}

}  // namespace halftone::cuda
