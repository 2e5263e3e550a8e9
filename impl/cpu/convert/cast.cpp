#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/convert/cast.cpp"
#include <algorithm>

#include "cpu/convert/arange.h"
#include "cpu/convert/copy.h"
#include "cpu/convert/fill.h"
#include "cpu/convert/quantize.h"
#include "cpu/convert/round_to.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Converts through the compute type of the input's dtype. It holds every input exactly, so only the store rounds.
template <class C>
void cast_elements(const Layout& in, const Layout& out, int64_t begin, int64_t end) {
  TileReader<C> reader(in);
  TileWriter<C> writer(out);
  if (out.dtype() == dtype_of<C> && out.is_dense()) {
    return reader.read_into(begin, end - begin, out.elements<C>() + begin);
  }
  if (in.dtype() == dtype_of<C> && in.is_dense()) return writer.write(begin, end - begin, in.elements<C>() + begin);
  for (int64_t i = begin; i < end; i += kTileSize<C>) {
    const int64_t count = std::min(kTileSize<C>, end - i);
    writer.write(i, count, reader.read(i, count));
  }
}

void cast_range(const Layout& in, const Layout& out, int64_t begin, int64_t end) {
  with_compute_type(in.dtype(), [&]<class C>() { cast_elements<C>(in, out, begin, end); });
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {
namespace {

HWY_EXPORT(cast_range);

Status cast(Stream& stream, const View& in, const View& out) noexcept {
  if (in.dtype == out.dtype) {
    copy(pool_of(stream), in, out);
    return {};
  }
  const Layout in_layout(in);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(cast_range);
  for_each_range(pool_of(stream), out.numel(),
                 [&](int64_t begin, int64_t end) { range(in_layout, out_layout, begin, end); });
  return {};
}

}  // namespace

const ConvertKernels kConvertKernels = {
    .cast = cast,
    .fill = fill,
    .arange = arange,
    .abs_max = abs_max,
    .quantize = quantize,
    .quantize_scale = quantize_scale,
    .round_to = round_to,
};

}  // namespace halftone::cpu
#endif  // HWY_ONCE
