#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/convert/quantize.cpp"
#include "cpu/convert/quantize.h"

#include <algorithm>
#include <bit>

#include "backend/formula/quantization.h"
#include "cpu/device.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Signed, because old instruction sets compare no unsigned words; magnitudes have no sign.
int32_t largest_bits(const float* HWY_RESTRICT tile, int64_t count) {
  int32_t most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, static_cast<int32_t>(magnitude_bits(tile[i])));
  return most;
}

}  // namespace

uint32_t abs_max_range(const Layout& in, int64_t begin, int64_t end) {
  TileReader<float> reader(in);
  int32_t most = 0;
  for (int64_t i = begin; i < end; i += kTileSize<float>) {
    const int64_t count = std::min(kTileSize<float>, end - i);
    most = std::max(most, largest_bits(reader.read(i, count), count));
  }
  return static_cast<uint32_t>(most);
}

// Returns the largest magnitude of the range.
uint32_t quantize_range(const Layout& in, float scale, const Layout& out, int64_t begin, int64_t end) {
  const float largest = largest_of(out.dtype());
  TileReader<float> reader(in);
  TileWriter<float> writer(out);
  int32_t most = 0;
  for (int64_t i = begin; i < end; i += kTileSize<float>) {
    const int64_t count = std::min(kTileSize<float>, end - i);
    const float* HWY_RESTRICT from = reader.read(i, count);
    float* HWY_RESTRICT tile = writer.tile(i, count);
    for (int64_t j = 0; j < count; ++j) tile[j] = saturated(from[j] / scale, largest);
    most = std::max(most, largest_bits(from, count));
    writer.commit(i, count);
  }
  return static_cast<uint32_t>(most);
}

// Infinity and NaN are left out.
uint32_t largest_finite(const Layout& in, int64_t count) {
  TileReader<float> reader(in);
  uint32_t most = 0;
  for (int64_t i = 0; i < count; i += kTileSize<float>) {
    const int64_t part = std::min(kTileSize<float>, count - i);
    const float* tile = reader.read(i, part);
    for (int64_t j = 0; j < part; ++j) {
      const uint32_t bits = magnitude_bits(tile[j]);
      if (bits < 0x7f800000 && bits > most) most = bits;
    }
  }
  return most;
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {
namespace {

HWY_EXPORT(abs_max_range);
HWY_EXPORT(quantize_range);
HWY_EXPORT(largest_finite);

float& number_in(const View& view) { return *static_cast<float*>(view.data); }

}  // namespace

Status abs_max(Stream& stream, const View& in, const View& out) noexcept {
  const Layout layout(in);
  const auto range = HWY_DYNAMIC_DISPATCH(abs_max_range);
  std::atomic<uint32_t> most{0};
  for_each_range(pool_of(stream), in.numel(),
                 [&](int64_t begin, int64_t end) { raise(most, range(layout, begin, end)); });
  number_in(out) = std::bit_cast<float>(most.load());
  return {};
}

Status quantize(Stream& stream, const View& in, const View& scale, const View& amax, const View& out) noexcept {
  const Layout in_layout(in);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(quantize_range);
  const float divisor = number_in(scale);
  std::atomic<uint32_t> most{0};
  for_each_range(pool_of(stream), out.numel(),
                 [&](int64_t begin, int64_t end) { raise(most, range(in_layout, divisor, out_layout, begin, end)); });
  if (amax.data != nullptr) number_in(amax) = std::bit_cast<float>(most.load());
  return {};
}

Status quantize_scale(Stream&, const View& amax, double largest, const View& out) noexcept {
  const uint32_t bits = HWY_DYNAMIC_DISPATCH(largest_finite)(Layout(amax), amax.numel());
  number_in(out) = quantize_scale_of(bits, static_cast<float>(largest));
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
