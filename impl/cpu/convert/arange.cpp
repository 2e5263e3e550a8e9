#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/convert/arange.cpp"
#include "cpu/convert/arange.h"

#include <algorithm>

#include "cpu/device.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Each element is computed from its index, not from the element before: errors do not accumulate, and threads can start
// anywhere.
void arange_range(double start, double step, const Layout& out, int64_t begin, int64_t end) {
  TileWriter<double> writer(out);
  for (int64_t i = begin; i < end; i += kTileSize<double>) {
    const int64_t count = std::min(kTileSize<double>, end - i);
    double* HWY_RESTRICT tile = writer.tile(i, count);
    for (int64_t j = 0; j < count; ++j) tile[j] = start + static_cast<double>(i + j) * step;
    writer.commit(i, count);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(arange_range);

Status arange(Stream& stream, double start, double step, const View& out) noexcept {
  const Layout layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(arange_range);
  for_each_range(pool_of(stream), out.numel(),
                 [&](int64_t begin, int64_t end) { range(start, step, layout, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
