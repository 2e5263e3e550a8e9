#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/store_tile.cpp"
#include <algorithm>

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

template <class T>
inline constexpr bool kIsSmallFloat = std::is_class_v<T>;

template <class T>
requires kIsSmallFloat<T>
void store_row(const float* tile, int64_t count, T* out) {
  for_each_vector(
      hn::ScalableTag<float>(), count, [](auto value) HWY_ATTR { return value; }, out, tile);
}

// double and int64 have more bits than FP32: rounding to odd on the way keeps the small format's rounding the only one.
template <class C, class T>
requires(kIsSmallFloat<T> && !std::is_same_v<C, float>) void store_row(const C* tile, int64_t count, T* out) {
  alignas(64) float block[kBlockElements];
  for (int64_t i = 0; i < count; i += kBlockElements) {
    const int64_t part = std::min(kBlockElements, count - i);
    for (int64_t j = 0; j < part; ++j) block[j] = round_to_odd(tile[i + j]);
    store_row(block, part, out + i);
  }
}

template <class C, class T>
requires std::is_arithmetic_v<T>
void store_row(const C* tile, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = convert_number<T>(tile[i]);
}

template <class C>
void store_contiguous(const C* tile, int64_t count, DType dtype, std::byte* out) {
  try_visit_dtype(AllTypes{}, dtype, [&]<class T>() { store_row(tile, count, reinterpret_cast<T*>(out)); });
}

template <class C>
void store(const C* tile, int64_t count, const Strided& out) {
  if (out.stride == 1) return store_contiguous(tile, count, out.dtype, out.data);
  alignas(64) std::byte block[kBlockElements * sizeof(uint64_t)];
  const size_t size = size_of(out.dtype);
  for (int64_t i = 0; i < count; i += kBlockElements) {
    const int64_t part = std::min(kBlockElements, count - i);
    store_contiguous(tile + i, part, out.dtype, block);
    std::byte* begin = out.data + i * out.stride * static_cast<int64_t>(size);
    copy_elements(size, block, 1, begin, out.stride, part);
  }
}

}  // namespace

void store_tile(const float* tile, int64_t count, const Strided& out) { store(tile, count, out); }
void store_tile(const double* tile, int64_t count, const Strided& out) { store(tile, count, out); }
void store_tile(const int64_t* tile, int64_t count, const Strided& out) { store(tile, count, out); }

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
