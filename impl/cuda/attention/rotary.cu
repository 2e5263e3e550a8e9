// Rotary position embedding: one thread for each pair of elements. Angles in double, as on the CPU.
#include <cmath>

#include "cuda/attention/entries.h"
#include "cuda/base/element.h"
#include "cuda/base/launch.h"
#include "cuda/base/places.h"

namespace halftone::cuda {
namespace {

// Rows of x and out, without their last dimension.
struct Rotation {
  Places<3> rows;  // of x, out and the positions
  Elements x, out;
  const int64_t* positions;  // null if row i has position offset + i
  int64_t row_count;         // of a head
  int64_t pairs;
  int64_t x_stride, out_stride;  // along a row
  Rotary rotary;
};

template <class C>
HALFTONE_KERNEL rotate_kernel(Rotation rotation, int64_t count) {
  const Rotary& rotary = rotation.rotary;
  for (int64_t item = first_item(); item < count; item += item_step()) {
    const int64_t row = item / rotation.pairs;
    const int64_t pair = item - row * rotation.pairs;
    const Offsets<3> at = offsets_at(rotation.rows, row);
    const int64_t position =
        rotation.positions != nullptr ? rotation.positions[at.at[2]] : rotary.offset + row % rotation.row_count;
    const double rate = std::pow(rotary.base, -static_cast<double>(pair) / static_cast<double>(rotation.pairs));
    const double angle = static_cast<double>(position) * rate;
    const C cosine = static_cast<C>(std::cos(angle));
    const C sine = static_cast<C>(rotary.is_inverse ? -std::sin(angle) : std::sin(angle));
    const int64_t first = rotary.is_interleaved ? 2 * pair : pair;
    const int64_t second = rotary.is_interleaved ? 2 * pair + 1 : pair + rotation.pairs;
    const C a = load<C>(rotation.x, at.at[0] + first * rotation.x_stride);
    const C b = load<C>(rotation.x, at.at[0] + second * rotation.x_stride);
    store<C>(rotation.out, at.at[1] + first * rotation.out_stride, a * cosine - b * sine);
    store<C>(rotation.out, at.at[1] + second * rotation.out_stride, a * sine + b * cosine);
  }
}

// A view without its last dimension.
View rows_of(const View& view) {
  View rows = view;
  rows.shape = Shape(view.shape.begin(), view.rank() - 1);
  rows.strides = Shape(view.strides.begin(), view.rank() - 1);
  return rows;
}

}  // namespace

Status rotate(Stream& stream, const Rotary& rotary, const View& x, const View& positions, const View& out) noexcept {
  const View rows_of_x = rows_of(x);
  const View rows_of_out = rows_of(out);
  const Rotation rotation = {
      .rows = places_of(rows_of_x, rows_of_out, positions.data != nullptr ? positions : rows_of_x),
      .x = {x.data, x.dtype},
      .out = {out.data, out.dtype},
      .positions = static_cast<const int64_t*>(positions.data),
      .row_count = x.shape[x.rank() - 2],
      .pairs = x.shape[x.rank() - 1] / 2,
      .x_stride = x.strides[x.rank() - 1],
      .out_stride = out.strides[out.rank() - 1],
      .rotary = rotary};
  const int64_t count = rotation.rows.count * rotation.pairs;
  return with_float_type(out.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), count), rotate_kernel<C>, rotation, count);
  });
}

}  // namespace halftone::cuda
