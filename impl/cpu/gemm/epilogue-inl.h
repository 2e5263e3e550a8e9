// The epilogue of a tile of finished sums, while it is in L1: bias, residual, activation, accumulation, rounding
// and store, each in a pass of its own over the tile. Included once per instruction set by gemm.cpp; any thread.
#if defined(HALFTONE_GEMM_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_GEMM_EPILOGUE_INL_H_
#undef HALFTONE_GEMM_EPILOGUE_INL_H_
#else
#define HALFTONE_GEMM_EPILOGUE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "backend/formula/quantization.h"
#include "backend/geometry/gemm_operands.h"
#include "backend/kernels/gemm.h"
#include "core/type_list.h"
#include "cpu/gemm/microkernel-inl.h"
#include "cpu/gemm/pack-inl.h"
#include "cpu/math/gelu.h"
#include "cpu/math/sigmoid.h"
#include "cpu/simd/tiles.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

// The tile's position in c, and its size inside c.
struct TilePlace {
  int64_t row;
  int64_t column;
  int64_t rows;
  int64_t columns;
};

// Columns from `column` on of one row of a matrix; `row` has no effect if the row stride is 0.
inline Strided row_of(const View& view, int64_t row, int64_t column) {
  const int64_t index = row * view.strides[0] + column * view.strides[1];
  return {static_cast<std::byte*>(view.data) + index * static_cast<int64_t>(size_of(view.dtype)), view.dtype,
          view.strides[1]};
}

// Replaces every vector of the tile's rows by f(vector, column). Lanes after the last column are not sums of c; they
// are changed too.
template <class F>
HWY_INLINE void for_each_tile_vector(const TilePlace& place, float* tile, F&& f) {
  const FloatTag d;
  for (int64_t r = 0; r < place.rows; ++r) {
    for (int64_t column = 0; column < place.columns; column += kLanes) {
      float* sums = tile + r * kTileColumns + column;
      hn::StoreU(f(hn::LoadU(d, sums), column), d, sums);
    }
  }
}

inline void add_bias(const View& bias, const TilePlace& place, float* tile) {
  const FloatTag d;
  alignas(64) float row[kTileColumns] = {};
  const int64_t offset = place.column * bias.strides[0] * static_cast<int64_t>(size_of(bias.dtype));
  load_tile(Strided{static_cast<std::byte*>(bias.data) + offset, bias.dtype, bias.strides[0]}, place.columns, row);
  for_each_tile_vector(
      place, tile, [&](FloatVector sum, int64_t column) HWY_ATTR { return hn::Add(sum, hn::Load(d, row + column)); });
}

// sums [columns] += the number that a row of stride 0 repeats, such as a channel's bias. Lanes after the last column
// are changed too.
inline void add_number(const Strided& row, int64_t columns, float* sums) {
  const FloatTag d;
  FloatVector number = hn::Zero(d);
  try_visit_dtype(OperandTypes{}, row.dtype, [&]<class T>() HWY_ATTR {
    number = hn::Set(d, static_cast<float>(*reinterpret_cast<const T*>(row.data)));
  });
  for (int64_t i = 0; i < columns; i += kLanes) hn::StoreU(hn::Add(hn::LoadU(d, sums + i), number), d, sums + i);
}

// sums [columns] += `row`, widened.
inline void add_row(const Strided& row, int64_t columns, float* sums) {
  const FloatTag d;
  const auto add = [](FloatVector a, FloatVector b) HWY_ATTR { return hn::Add(a, b); };
  if (row.stride == 1) {
    try_visit_dtype(OperandTypes{}, row.dtype, [&]<class T>() HWY_ATTR {
      for_each_vector(d, columns, add, sums, sums, reinterpret_cast<const T*>(row.data));
    });
    return;
  }
  if (row.stride == 0) return add_number(row, columns, sums);
  alignas(64) float widened[kTileColumns];
  load_tile(row, columns, widened);
  for_each_vector(d, columns, add, sums, sums, static_cast<const float*>(widened));
}

inline void add_rows(const View& view, const TilePlace& place, float* tile) {
  for (int64_t r = 0; r < place.rows; ++r) {
    add_row(row_of(view, place.row + r, place.column), place.columns, tile + r * kTileColumns);
  }
}

template <class T>
void store_contiguous_rows(const View& c, const TilePlace& place, const float* tile) {
  const FloatTag d;
  T* out = static_cast<T*>(c.data) + place.row * c.strides[0] + place.column;
  const auto keep = [](FloatVector value) HWY_ATTR { return value; };
  for (int64_t r = 0; r < place.rows; ++r, tile += kTileColumns, out += c.strides[0]) {
    for_each_vector(d, place.columns, keep, out, tile);
  }
}

inline void store_rows(const View& c, const TilePlace& place, const float* tile) {
  const auto store = [&]<class T>() { store_contiguous_rows<T>(c, place, tile); };
  if (c.strides[1] == 1 && try_visit_dtype(OperandTypes{}, c.dtype, store)) return;
  for (int64_t r = 0; r < place.rows; ++r) {
    store_tile(tile + r * kTileColumns, place.columns, row_of(c, place.row + r, place.column));
  }
}

template <GemmActivation activation>
HWY_INLINE FloatVector activated(FloatVector x) {
  const FloatTag d;
  // As UnaryOp::kRelu: NaN stays, and -0 becomes 0.
  if constexpr (activation == GemmActivation::kRelu) return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);
  if constexpr (activation == GemmActivation::kGeluErf) return gelu_erf(d, x);
  if constexpr (activation == GemmActivation::kGeluTanh) return gelu_tanh(d, x);
  if constexpr (activation == GemmActivation::kSilu) return silu(d, x);
}

template <GemmActivation activation>
HWY_NOINLINE void activate_tile(const TilePlace& place, float* tile) {
  for_each_tile_vector(place, tile, [](FloatVector sum, int64_t) HWY_ATTR { return activated<activation>(sum); });
}

// The sum times the activation's derivative at x, as the backward kernels of BinaryOp.
template <GemmActivation activation>
HWY_INLINE FloatVector sloped(FloatVector sum, FloatVector x) {
  const FloatTag d;
  if constexpr (activation == GemmActivation::kRelu) return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), sum);
  if constexpr (activation == GemmActivation::kGeluErf) return hn::Mul(sum, gelu_erf_derivative(d, x));
  if constexpr (activation == GemmActivation::kGeluTanh) return hn::Mul(sum, gelu_tanh_derivative(d, x));
  if constexpr (activation == GemmActivation::kSilu) return hn::Mul(sum, silu_derivative(d, x));
}

template <GemmActivation activation>
HWY_NOINLINE void slope_tile(const View& argument, const TilePlace& place, float* tile) {
  const FloatTag d;
  alignas(64) float x[kTileRows * kTileColumns] = {};
  const RowBlock rows = {row_of(argument, place.row, place.column), argument.strides[0], place.rows, place.columns};
  load_tiles(rows, kTileColumns, x);
  for (int64_t r = 0; r < place.rows; ++r) {
    for (int64_t i = r * kTileColumns; i < r * kTileColumns + place.columns; i += kLanes) {
      hn::StoreU(sloped<activation>(hn::LoadU(d, tile + i), hn::LoadU(d, x + i)), d, tile + i);
    }
  }
}

// Calls f<activation>(), unless it is kNone.
template <class F>
void visit_activation(GemmActivation activation, F&& f) {
  switch (activation) {
    case GemmActivation::kNone:
      return;
    case GemmActivation::kRelu:
      return f.template operator()<GemmActivation::kRelu>();
    case GemmActivation::kGeluErf:
      return f.template operator()<GemmActivation::kGeluErf>();
    case GemmActivation::kGeluTanh:
      return f.template operator()<GemmActivation::kGeluTanh>();
    case GemmActivation::kSilu:
      return f.template operator()<GemmActivation::kSilu>();
  }
}

// The activation, or its backward.
inline void activate(const GemmArgs& args, const TilePlace& place, float* tile) {
  visit_activation(args.activation, [&]<GemmActivation activation>() {
    if (args.argument.data != nullptr) return slope_tile<activation>(args.argument, place, tile);
    activate_tile<activation>(place, tile);
  });
}

// Prefetches the tile's part of a matrix while its sums are still being computed.
inline void prefetch_rows(const View& view, const TilePlace& place) {
  constexpr int64_t kCacheLine = 64;
  const int64_t bytes = place.columns * static_cast<int64_t>(size_of(view.dtype));
  for (int64_t r = 0; r < place.rows; ++r) {
    const std::byte* const row = row_of(view, place.row + r, place.column).data;
    for (int64_t at = 0; at < bytes; at += kCacheLine) hwy::Prefetch(row + at);
  }
}

// The tile's part of c = activation(tile + bias + residual), or of the activation's backward, added to c if store is
// kAdd.
inline void finish_tile(const GemmArgs& args, const TilePlace& place, float* tile) {
  if (args.bias.data != nullptr) add_bias(args.bias, place, tile);
  if (args.residual.data != nullptr) add_rows(args.residual, place, tile);
  if (args.sum.data != nullptr) store_rows(args.sum, place, tile);
  activate(args, place, tile);
  if (args.store == Store::kAdd) add_rows(args.c, place, tile);
  store_rows(args.c, place, tile);
}

// ---- Products of codes

inline float factor(const float* scale) { return scale == nullptr ? 1.0f : *scale; }

// The largest magnitude of the tile's part of c, as an integer.
inline uint32_t largest_bits_of(const TilePlace& place, const float* tile) {
  int32_t most = 0;
  for (int64_t r = 0; r < place.rows; ++r, tile += kTileColumns) {
    for (int64_t i = 0; i < place.columns; ++i) most = std::max(most, static_cast<int32_t>(magnitude_bits(tile[i])));
  }
  return static_cast<uint32_t>(most);
}

inline void scale_result(float scale, float largest, const TilePlace& place, float* tile) {
  for (int64_t r = 0; r < place.rows; ++r, tile += kTileColumns) {
    for (int64_t i = 0; i < place.columns; ++i) {
      tile[i] /= scale;
      if (largest > 0) tile[i] = saturated(tile[i], largest);
    }
  }
}

// True if a product of codes does more to its sums than any other product.
inline bool scales_or_quantizes_sums(const GemmArgs& args) {
  return args.scales.a != nullptr || args.scales.b != nullptr || scales_sums_of_a(args) || scales_sums_of_b(args) ||
         quantizes_result(args);
}

// The f32 scale that holds for the whole depth of a row of a (dim 0) or a column of b (dim 1).
inline float scale_of_line(const BlockScales& scales, int dim, int64_t line) {
  const int64_t lines = dim == 0 ? scales.rows : scales.columns;
  // A division takes as long as a row of sums.
  const int64_t block = lines == 1 ? line : line / lines;
  return static_cast<const float*>(scales.data)[block * scales.strides[dim]];
}

// Multiplies sums by the tensors' factors, and by the scales of lines that hold for the whole depth. Row r of the
// results goes to out + r * stride, in whole vectors.
inline void scale_sums(const GemmArgs& args, const TilePlace& place, const float* tile, int64_t stride, float* out) {
  const FloatTag d;
  const bool has_rows = scales_sums_of_a(args), has_columns = scales_sums_of_b(args);
  alignas(64) float of_columns[kTileColumns] = {};
  for (int64_t i = 0; has_columns && i < place.columns; ++i) {
    of_columns[i] = scale_of_line(args.b_blocks, 1, place.column + i);
  }
  const float of_tensors = factor(args.scales.a) * factor(args.scales.b);
  for (int64_t r = 0; r < place.rows; ++r, tile += kTileColumns, out += stride) {
    const float of_row = has_rows ? of_tensors * scale_of_line(args.a_blocks, 0, place.row + r) : of_tensors;
    for (int64_t i = 0; i < place.columns; i += kLanes) {
      const FloatVector sum = hn::Mul(hn::LoadU(d, tile + i), hn::Set(d, of_row));
      hn::StoreU(has_columns ? hn::Mul(sum, hn::Load(d, of_columns + i)) : sum, d, out + i);
    }
  }
}

// True where scaled sums are c, as they are in a gradient of weights.
inline bool stores_scaled_sums(const GemmArgs& args, const TilePlace& place) {
  return args.c.dtype == DType::kF32 && args.c.strides[1] == 1 && place.columns % kLanes == 0 &&
         args.bias.data == nullptr && args.residual.data == nullptr && args.sum.data == nullptr &&
         args.activation == GemmActivation::kNone && args.store == Store::kWrite && !quantizes_result(args);
}

// The tile's part of c, as GemmArgs says. Returns the largest magnitude before the result's scale, where it is asked
// for.
inline uint32_t finish_scaled_tile(const GemmArgs& args, const TilePlace& place, float* tile) {
  if (stores_scaled_sums(args, place)) {
    float* const out = static_cast<float*>(args.c.data) + place.row * args.c.strides[0] + place.column;
    scale_sums(args, place, tile, args.c.strides[0], out);
    return 0;
  }
  scale_sums(args, place, tile, kTileColumns, tile);
  if (!quantizes_result(args)) {
    finish_tile(args, place, tile);
    return 0;
  }
  if (args.bias.data != nullptr) add_bias(args.bias, place, tile);
  const uint32_t most = args.scales.amax != nullptr ? largest_bits_of(place, tile) : 0;
  const float largest = largest_of(args.c.dtype);
  if (args.scales.c != nullptr || largest > 0) scale_result(factor(args.scales.c), largest, place, tile);
  store_rows(args.c, place, tile);
  return most;
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#endif
