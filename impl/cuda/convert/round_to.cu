#include "core/philox.h"
#include "cuda/base/map.h"
#include "cuda/convert/round_to.h"

namespace halftone::cuda {
namespace {

static_assert(kTile % 4 == 0, "a tile takes whole blocks of words");

template <class C>
struct Rounded {
  FormatGrid<C> grid;
  HALFTONE_DEVICE C operator()(C value) const { return round_to_format(value, grid); }
};

// Thread t takes tile t, then the next ones in a grid-stride loop.
template <class C>
HALFTONE_KERNEL chance_kernel(Places<2> places, Elements in, Elements out, FormatGrid<C> grid, PhiloxKey taken) {
  const PhiloxKey key = current_key(taken);
  const Places<1> of_out = places_of_view<0>(places);
  const Places<1> of_in = places_of_view<1>(places);
  for (int64_t begin = first_item() * kTile; begin < places.count; begin += item_step() * kTile) {
    C tile[kTile];
    load_some(of_in, in, begin, tile);
#pragma unroll
    for (int block = 0; block < kTile / 4; ++block) {
      const PhiloxBlock words = philox(key, static_cast<uint64_t>(begin / 4 + block));
#pragma unroll
      for (int k = 0; k < 4; ++k) tile[4 * block + k] = round_to_format(tile[4 * block + k], grid, words[k]);
    }
    store_some(of_out, out, begin, tile);
  }
}

}  // namespace

Status round_to(Stream& stream, const View& in, const FormatRounding& rule, const View& out) noexcept {
  return with_float_type(out.dtype, [&]<class C>() {
    const FormatGrid<C> grid = grid_of<C>(rule);
    if (rule.rounding != Rounding::kStochastic) return map<C>(stream, Rounded<C>{grid}, out, in);
    const Places<2> places = places_of(out, in);
    const int64_t tiles = (places.count + kTile - 1) / kTile;
    return launch(stream, grid_for_items(device_of(stream), tiles), chance_kernel<C>, places, elements_of(in),
                  elements_of(out), grid, rule.key);
  });
}

}  // namespace halftone::cuda
