// The signs of relu's argument in one bit for each element, and relu's backward from them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/scaled/relu_bits.cpp"
#include <algorithm>

#include "cpu/device.h"
#include "cpu/scaled/entries.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors of at most the elements of a byte.
using Lanes = hn::CappedTag<float, 8>;

// Tiles are whole bytes of bits.
constexpr int64_t kTile = 256;

Strided elements_from(const View& view, int64_t begin) {
  return {static_cast<std::byte*>(view.data) + begin * static_cast<int64_t>(size_of(view.dtype)), view.dtype, 1};
}

// The bits of eight elements.
uint8_t byte_of(const float* values) {
  const Lanes d;
  uint8_t byte = 0;
  for (size_t i = 0; i < 8; i += hn::Lanes(d)) {
    uint8_t part[8] = {};
    hn::StoreMaskBits(d, hn::Not(hn::Le(hn::LoadU(d, values + i), hn::Zero(d))), part);
    byte = static_cast<uint8_t>(byte | part[0] << i);
  }
  return byte;
}

void keep_where(uint8_t byte, float* values) {
  const Lanes d;
  for (size_t i = 0; i < 8; i += hn::Lanes(d)) {
    const uint8_t part[8] = {static_cast<uint8_t>(byte >> i)};
    hn::StoreU(hn::IfThenElseZero(hn::LoadMaskBits(d, part), hn::LoadU(d, values + i)), d, values + i);
  }
}

}  // namespace

// The elements [begin, end), where `begin` is that of a byte.
void relu_bits_of(const View& x, int64_t begin, int64_t end, uint8_t* bits) {
  alignas(64) float values[kTile];
  for (; begin < end; begin += kTile) {
    const int64_t count = std::min(kTile, end - begin);
    load_tile(elements_from(x, begin), count, values);
    std::fill(values + count, values + (count + 7) / 8 * 8, 0.0f);
    for (int64_t i = 0; i < count; i += 8) bits[(begin + i) / 8] = byte_of(values + i);
  }
}

void relu_backward_range(const View& grad_output, const uint8_t* bits, int64_t begin, int64_t end, const View& out) {
  alignas(64) float values[kTile] = {};
  for (; begin < end; begin += kTile) {
    const int64_t count = std::min(kTile, end - begin);
    load_tile(elements_from(grad_output, begin), count, values);
    for (int64_t i = 0; i < count; i += 8) keep_where(bits[(begin + i) / 8], values + i);
    store_tile(values, count, elements_from(out, begin));
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(relu_bits_of);
HWY_EXPORT(relu_backward_range);

static_assert(kChunkSize % 8 == 0, "chunks are whole bytes of bits");

Status relu_bits(Stream& stream, const View& x, const View& bits) noexcept {
  const auto compute = HWY_DYNAMIC_DISPATCH(relu_bits_of);
  for_each_range(pool_of(stream), x.numel(),
                 [&](int64_t begin, int64_t end) { compute(x, begin, end, static_cast<uint8_t*>(bits.data)); });
  return {};
}

Status relu_backward_of_bits(Stream& stream, const View& grad_output, const View& bits, const View& out) noexcept {
  const auto compute = HWY_DYNAMIC_DISPATCH(relu_backward_range);
  for_each_range(pool_of(stream), out.numel(), [&](int64_t begin, int64_t end) {
    compute(grad_output, static_cast<const uint8_t*>(bits.data), begin, end, out);
  });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
