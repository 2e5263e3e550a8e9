// Scaled tensors: a warp for each small block of elements with one scale, and a block of threads for each large one.
#include "backend/formula/hadamard.h"
#include "backend/formula/scaling.h"
#include "cuda/base/kernel_groups.h"
#include "cuda/base/launch.h"
#include "cuda/base/magnitude.h"
#include "cuda/base/map.h"

namespace halftone::cuda {
namespace {

// A warp takes blocks of up to so many elements.
constexpr int64_t kWarpElements = 512;
// The pieces that warps take where the scale is given.
constexpr int64_t kGivenColumns = 128;

struct Quantization {
  View in;
  CodeRounding rounding;
  ScaledView out;
  float* amax = nullptr;
  // The elements with one scale, or of a piece.
  int64_t block_rows = 1;
  int64_t block_columns = 1;
  int64_t across = 1;  // blocks beside each other
  int64_t count = 0;   // of blocks
};

// The elements of a block, by pairs of neighbours in a row: two codes of E2M1 are a byte.
struct BlockPlace {
  int64_t row;
  int64_t column;
  int64_t rows;
  int64_t columns;

  HALFTONE_DEVICE int64_t pairs_of_row() const { return (columns + 1) / 2; }
  HALFTONE_DEVICE int64_t pairs() const { return rows * pairs_of_row(); }
};

HALFTONE_DEVICE BlockPlace place_of(const Quantization& of, int64_t block) {
  const int64_t row = block / of.across * of.block_rows, column = block % of.across * of.block_columns;
  const int64_t rows_left = of.in.shape[0] - row, columns_left = of.in.shape[1] - column;
  return {row, column, rows_left < of.block_rows ? rows_left : of.block_rows,
          columns_left < of.block_columns ? columns_left : of.block_columns};
}

HALFTONE_DEVICE float value_at(const Quantization& of, int64_t row, int64_t column) {
  return load<float>(Elements{of.in.data, of.in.dtype}, row * of.in.strides[0] + column * of.in.strides[1]);
}

template <class Scale>
HALFTONE_DEVICE float put_scale(const Quantization& of, int64_t block, bool stores, const BlockScale<Scale>& scale) {
  const View& scales = of.out.scales;
  const int64_t place = block / of.across * scales.strides[0] + block % of.across * scales.strides[1];
  if (stores) static_cast<Scale*>(scales.data)[place] = scale.scale;
  return scale.factor;
}

// The factor of a block, whose scale is stored by one thread.
HALFTONE_DEVICE float factor_of(const Quantization& of, int64_t block, uint32_t most, bool stores) {
  const float largest = largest_of(of.out.format);
  switch (of.rounding.rule) {
    case ScaleRule::kGiven:
      return divisor_of(*static_cast<const float*>(of.out.scales.data));
    case ScaleRule::kDivided:
      return put_scale(of, block, stores, row_scale(most, largest));
    case ScaleRule::kPower:
      return put_scale(of, block, stores, power_scale(most, largest));
    case ScaleRule::kMxDown:
    case ScaleRule::kMxUp:
      return put_scale(of, block, stores, mx_scale(most, largest, of.rounding.rule == ScaleRule::kMxUp));
    case ScaleRule::kNvfp4:
      break;
  }
  return put_scale(of, block, stores, nv_scale(most, *of.out.tensor_scale));
}

HALFTONE_DEVICE uint16_t random_word(const PhiloxKey& key, const Quantization& of, int64_t row, int64_t column) {
  const int64_t blocks_of_row = (of.in.shape[1] + 255) / 256;
  const auto number = static_cast<uint64_t>((row * blocks_of_row + column / 256) * 256 + column % 256);
  const uint32_t word = philox(key, number / 8)[number % 8 / 2];
  return static_cast<uint16_t>(number % 2 == 0 ? word : word >> 16);
}

HALFTONE_DEVICE uint8_t code_at(const Quantization& of, const PhiloxKey& key, int64_t row, int64_t column,
                                float factor) {
  const float value = value_at(of, row, column);
  const bool divides = of.rounding.rule == ScaleRule::kGiven || of.rounding.rule == ScaleRule::kDivided;
  const uint16_t word = of.rounding.is_stochastic ? random_word(key, of, row, column) : uint16_t{0};
  return code_of(of.out.format, value, divides ? value / factor : value * factor, of.rounding.is_stochastic, word);
}

HALFTONE_DEVICE void put_pair(const Quantization& of, const PhiloxKey& key, const BlockPlace& place, int64_t pair,
                              float factor) {
  const int64_t row = place.row + pair / place.pairs_of_row();
  const int64_t column = place.column + pair % place.pairs_of_row() * 2;
  const bool has_second = column + 1 < place.column + place.columns;
  const uint8_t first = code_at(of, key, row, column, factor);
  const uint8_t second = has_second ? code_at(of, key, row, column + 1, factor) : uint8_t{0};
  uint8_t* const codes = static_cast<uint8_t*>(of.out.codes.data);
  const int64_t begin = row * of.out.codes.strides[0] + column;
  if (of.out.format == NumberFormat::kE2M1) {
    codes[begin / 2] = static_cast<uint8_t>(first | second << 4);
    return;
  }
  codes[begin] = first;
  if (has_second) codes[begin + 1] = second;
}

// Warp w of the grid takes block w, or block of threads b takes block b; then the next ones in a grid-stride loop.
template <bool is_warp>
HALFTONE_KERNEL quantize_kernel(Quantization of) {
  const int64_t width = is_warp ? kWarp : blockDim.x;
  const int64_t lane = first_item() % width, step = item_step() / width;
  const PhiloxKey key = current_key(of.rounding.key);
  uint32_t all = 0;
  for (int64_t block = first_item() / width; block < of.count; block += step) {
    const BlockPlace place = place_of(of, block);
    uint32_t most = 0;
    for (int64_t pair = lane; pair < place.pairs(); pair += width) {
      const int64_t row = place.row + pair / place.pairs_of_row();
      const int64_t column = pair % place.pairs_of_row() * 2;
      for (int64_t j = column; j < column + 2 && j < place.columns; ++j) {
        const uint32_t bits = magnitude_bits(value_at(of, row, place.column + j));
        most = bits > most ? bits : most;
      }
    }
    most = is_warp ? reduce_warp(most, Most<uint32_t>()) : reduce_block(most, 0u, Most<uint32_t>());
    all = most > all ? most : all;
    const float factor = factor_of(of, block, most, lane == 0);
    for (int64_t pair = lane; pair < place.pairs(); pair += width) put_pair(of, key, place, pair, factor);
  }
  raise(of.amax, all);
}

// One thread.
HALFTONE_KERNEL tensor_scale_kernel(const float* amax, ScaleRule rule, float largest, float* scale) {
  const uint32_t bits = magnitude_bits(*amax);
  *scale = rule == ScaleRule::kNvfp4 ? nv_tensor_scale(bits) : divided_scale(bits, largest, /*least=*/0);
}

// A thread takes a block of a row, or the rest of a row.
HALFTONE_KERNEL rotate_kernel(View in, PhiloxKey key, View out, int64_t blocks_of_row) {
  const uint32_t signs = hadamard_signs(current_key(key));
  const int64_t columns = in.shape[1];
  for (int64_t item = first_item(); item < in.shape[0] * blocks_of_row; item += item_step()) {
    const int64_t row = item / blocks_of_row, column = item % blocks_of_row * kHadamardSize;
    const int64_t count = columns - column < kHadamardSize ? columns - column : kHadamardSize;
    float block[kHadamardSize] = {};
    for (int64_t i = 0; i < count; ++i) {
      block[i] = load<float>(Elements{in.data, in.dtype}, row * in.strides[0] + (column + i) * in.strides[1]);
    }
    if (count == kHadamardSize) hadamard_block(signs, block);
    for (int64_t i = 0; i < count; ++i) store(Elements{out.data, out.dtype}, row * columns + column + i, block[i]);
  }
}

// One thread: a history has about a thousand numbers.
HALFTONE_KERNEL advance_kernel(HistoryRule rule, float* history, int64_t length, float* scale) {
  const int64_t counted = rule.takes_newest ? 1 : length;
  uint32_t most = 0;
  for (int64_t i = 0; i < counted; ++i) most = larger_finite(most, history[i]);
  if (most != 0) *scale = history_scale(most, largest_of(rule.format), rule.factor);
  for (int64_t i = length - 1; i > 0; --i) history[i] = history[i - 1];
  history[0] = 0;
}

struct Value {
  ScaledView in;
  int64_t columns;

  HALFTONE_DEVICE float operator()(int64_t i) const {
    const int64_t row = i / columns, column = i % columns;
    const int64_t place = row * in.codes.strides[0] + column * in.codes.strides[1];
    const uint8_t* const codes = static_cast<const uint8_t*>(in.codes.data);
    const bool is_packed = in.format == NumberFormat::kE2M1;
    const uint8_t code = is_packed ? static_cast<uint8_t>(codes[place / 2] >> (place % 2 * 4) & 15) : codes[place];
    const float tensor_scale = in.tensor_scale == nullptr ? 1.0f : *in.tensor_scale;
    return number_of_code(in.format, code) * scale_of(row, column) * tensor_scale;
  }

  HALFTONE_DEVICE float scale_of(int64_t row, int64_t column) const {
    const int64_t place = row / in.block_rows * in.scales.strides[0] + column / in.block_columns * in.scales.strides[1];
    if (in.scales.dtype == DType::kU8) return static_cast<const ScaleE8M0*>(in.scales.data)[place];
    if (in.scales.dtype == DType::kF8E4M3) return static_cast<const Float8E4M3*>(in.scales.data)[place];
    return static_cast<const float*>(in.scales.data)[place];
  }
};

Status tensor_scale(Stream& stream, const View& amax, ScaleRule rule, NumberFormat format, const View& scale) noexcept {
  return launch(stream, {.blocks = 1, .threads = 1}, tensor_scale_kernel, static_cast<const float*>(amax.data), rule,
                largest_of(format), static_cast<float*>(scale.data));
}

Status quantize_blocks(Stream& stream, const View& in, const CodeRounding& rounding, const View& amax,
                       const ScaledView& out) noexcept {
  Quantization of = {.in = in, .rounding = rounding, .out = out, .amax = static_cast<float*>(amax.data)};
  const bool is_given = rounding.rule == ScaleRule::kGiven;
  of.block_rows = is_given ? 1 : out.block_rows;
  of.block_columns = is_given ? kGivenColumns : out.block_columns;
  of.across = is_given ? (in.shape[1] + kGivenColumns - 1) / kGivenColumns : out.scales.shape[1];
  of.count = is_given ? in.shape[0] * of.across : out.scales.numel();
  if (Status status = clear_magnitude(stream, of.amax); !status.ok()) return status;
  if (of.block_rows * of.block_columns <= kWarpElements) {
    return launch(stream, grid_for_items(device_of(stream), of.count * kWarp), quantize_kernel<true>, of);
  }
  return launch(stream, grid_for_rows(of.count, kThreads), quantize_kernel<false>, of);
}

Status rotate_blocks(Stream& stream, const View& in, const PhiloxKey& key, const View& out) noexcept {
  const int64_t blocks_of_row = (in.shape[1] + kHadamardSize - 1) / kHadamardSize;
  return launch(stream, grid_for_items(device_of(stream), in.shape[0] * blocks_of_row), rotate_kernel, in, key, out,
                blocks_of_row);
}

Status advance_history(Stream& stream, const HistoryRule& rule, const View& history, const View& scale) noexcept {
  return launch(stream, {.blocks = 1, .threads = 1}, advance_kernel, rule, static_cast<float*>(history.data),
                history.numel(), static_cast<float*>(scale.data));
}

Status dequantize_blocks(Stream& stream, const ScaledView& in, const View& out) noexcept {
  return generate<float>(stream, Value{in, out.shape[1]}, out);
}

// The byte of the elements from 8 i on.
struct ReluBits {
  Elements x;
  int64_t count;

  HALFTONE_DEVICE int64_t operator()(int64_t i) const {
    int64_t byte = 0;
    for (int64_t k = 0; k < 8 && 8 * i + k < count; ++k) {
      byte |= load<float>(x, 8 * i + k) <= 0 ? 0 : int64_t{1} << k;
    }
    return byte;
  }
};

Status relu_bits(Stream& stream, const View& x, const View& bits) noexcept {
  return generate<int64_t>(stream, ReluBits{elements_of(x), x.numel()}, bits);
}

struct ReluBackwardOfBits {
  Elements grad_output;
  const uint8_t* bits;

  HALFTONE_DEVICE float operator()(int64_t i) const {
    return (bits[i / 8] >> (i % 8) & 1) != 0 ? load<float>(grad_output, i) : 0.0f;
  }
};

Status relu_backward_of_bits(Stream& stream, const View& grad_output, const View& bits, const View& out) noexcept {
  const ReluBackwardOfBits passed = {elements_of(grad_output), static_cast<const uint8_t*>(bits.data)};
  return generate<float>(stream, passed, out);
}

}  // namespace

const ScaledKernels kScaledKernels = {HALFTONE_SCALED_ENTRIES(HALFTONE_ENTRY_ROW)};

}  // namespace halftone::cuda
