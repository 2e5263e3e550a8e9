#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/load_tile.cpp"
#include <algorithm>
#include <cstring>

#include "core/conversion.h"
#include "core/type_list.h"
#include "cpu/simd/strided_block.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tiles.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Small floats, which vectors widen to FP32, and FP32 itself.
template <class T>
inline constexpr bool kIsVectorFormat = std::is_class_v<T> || std::is_same_v<T, float>;

template <class T>
requires kIsVectorFormat<T>
void load_row(const T* in, int64_t count, float* tile) {
  for_each_vector(
      hn::ScalableTag<float>(), count, [](auto value) HWY_ATTR { return value; }, tile, in);
}

// Into double or int64 they go through FP32, which holds them exactly.
template <class T, class C>
requires(kIsVectorFormat<T> && !std::is_same_v<C, float>) void load_row(const T* in, int64_t count, C* tile) {
  alignas(64) float block[kBlockElements];
  for (int64_t i = 0; i < count; i += kBlockElements) {
    const int64_t part = std::min(kBlockElements, count - i);
    load_row(in + i, part, block);
    for (int64_t j = 0; j < part; ++j) tile[i + j] = convert_number<C>(block[j]);
  }
}

template <class T, class C>
requires(!kIsVectorFormat<T>) void load_row(const T* in, int64_t count, C* tile) {
  for (int64_t i = 0; i < count; ++i) tile[i] = convert_number<C>(in[i]);
}

// A bool is true unless its byte is 0; it is read as a byte because C++ leaves other values than 0 and 1 undefined.
template <class C>
void load_bools(const uint8_t* in, int64_t count, C* tile) {
  for (int64_t i = 0; i < count; ++i) tile[i] = in[i] != 0 ? C{1} : C{0};
}

template <class C>
void load_contiguous(const std::byte* in, DType dtype, int64_t count, C* tile) {
  if (dtype == DType::kBool) return load_bools(reinterpret_cast<const uint8_t*>(in), count, tile);
  try_visit_dtype(AllTypes{}, dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) load_row(reinterpret_cast<const T*>(in), count, tile);
  });
}

template <class C>
void load(const Strided& in, int64_t count, C* tile) {
  if (in.stride == 1) return load_contiguous(in.data, in.dtype, count, tile);
  if (in.stride == 0) {
    if (count > 0) load_contiguous(in.data, in.dtype, 1, tile);
    std::fill(tile, tile + count, tile[0]);
    return;
  }
  alignas(64) std::byte block[kBlockElements * sizeof(uint64_t)];
  const size_t size = size_of(in.dtype);
  for (int64_t i = 0; i < count; i += kBlockElements) {
    const int64_t part = std::min(kBlockElements, count - i);
    const std::byte* begin = in.data + i * in.stride * static_cast<int64_t>(size);
    copy_elements(size, begin, in.stride, block, 1, part);
    load_contiguous(block, in.dtype, part, tile + i);
  }
}

template <class C>
void load_rows_one_by_one(const RowBlock& in, int64_t tile_stride, C* tiles) {
  const auto row_bytes = in.row_stride * static_cast<int64_t>(size_of(in.first.dtype));
  Strided row = in.first;
  for (int64_t r = 0; r < in.rows; ++r, row.data += row_bytes) load(row, in.count, tiles + r * tile_stride);
}

template <class C>
void load_rows(const RowBlock& in, int64_t tile_stride, C* tiles) {
  if (in.first.stride != 1 || in.first.dtype == DType::kBool) return load_rows_one_by_one(in, tile_stride, tiles);
  try_visit_dtype(AllTypes{}, in.first.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const T* first = reinterpret_cast<const T*>(in.first.data);
      for (int64_t r = 0; r < in.rows; ++r) load_row(first + r * in.row_stride, in.count, tiles + r * tile_stride);
    }
  });
}

}  // namespace

void load_tile(const Strided& in, int64_t count, float* tile) { load(in, count, tile); }
void load_tile(const Strided& in, int64_t count, double* tile) { load(in, count, tile); }
void load_tile(const Strided& in, int64_t count, int64_t* tile) { load(in, count, tile); }

void load_tiles(const RowBlock& in, int64_t tile_stride, float* tiles) { load_rows(in, tile_stride, tiles); }
void load_tiles(const RowBlock& in, int64_t tile_stride, double* tiles) { load_rows(in, tile_stride, tiles); }
void load_tiles(const RowBlock& in, int64_t tile_stride, int64_t* tiles) { load_rows(in, tile_stride, tiles); }

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
