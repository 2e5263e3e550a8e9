// Images of another size: one thread for each element that is written.
#include "cuda/base/kernel_groups.h"
#include "cuda/base/launch.h"
#include "cuda/pool/planes.h"
#include "cuda/resample/neighbours.h"

namespace halftone::cuda {
namespace {

struct Resampling {
  Planes input;
  Planes output;
  ResampleAxis rows;
  ResampleAxis columns;
};

Resampling resampling_of(const ResampleArgs& args) {
  return {planes_of(args.input), planes_of(args.output), resample_axis(args, 0), resample_axis(args, 1)};
}

template <class C>
HALFTONE_DEVICE C blend(C first, C second, double share) {
  const C part = static_cast<C>(share);
  return (C{1} - part) * first + part * second;
}

template <class C>
HALFTONE_KERNEL resample_kernel(Resampling resampling, int64_t count) {
  const Planes& input = resampling.input;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const PlanePlace place = place_in_plane(resampling.output, i);
    const Neighbours row = neighbours_at(resampling.rows, place.y);
    const Neighbours column = neighbours_at(resampling.columns, place.x);
    const int64_t plane = plane_offset(input, place.plane);
    const auto at = [&](int64_t y, int64_t x) {
      return load<C>(input.elements, plane + y * input.strides[2] + x * input.strides[3]);
    };
    C value = at(row.first, column.first);
    if (resampling.rows.mode == ResampleMode::kLinear) {
      value = blend(blend(value, at(row.first, column.second), column.share),
                    blend(at(row.second, column.first), at(row.second, column.second), column.share), row.share);
    }
    store<C>(resampling.output.elements, i, value);
  }
}

// The share of a position's gradient that an element gets: twice where both neighbours are this element.
template <class C>
HALFTONE_DEVICE C share_of(const ResampleAxis& axis, int64_t position, int64_t element) {
  const Neighbours neighbours = neighbours_at(axis, position);
  if (axis.mode == ResampleMode::kNearest) return neighbours.first == element ? C{1} : C{0};
  const C part = static_cast<C>(neighbours.share);
  C share = 0;
  if (neighbours.first == element) share += C{1} - part;
  if (neighbours.second == element) share += part;
  return share;
}

// Gathers the gradients of the positions that read the element, in their order.
template <class C>
HALFTONE_KERNEL resample_backward_kernel(Resampling resampling, int64_t count) {
  const Planes& output = resampling.output;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const PlanePlace place = place_in_plane(resampling.input, i);
    const int64_t plane = place.plane * output.height * output.width;
    const int64_t top = first_position_at(resampling.rows, place.y - 1);
    const int64_t bottom = first_position_at(resampling.rows, place.y + 1);
    const int64_t left = first_position_at(resampling.columns, place.x - 1);
    const int64_t right = first_position_at(resampling.columns, place.x + 1);
    C sum = 0;
    for (int64_t y = top; y < bottom; ++y) {
      const C of_row = share_of<C>(resampling.rows, y, place.y);
      if (of_row == C{0}) continue;
      for (int64_t x = left; x < right; ++x) {
        const C of_column = share_of<C>(resampling.columns, x, place.x);
        if (of_column == C{0}) continue;
        sum += of_column * (of_row * load<C>(output.elements, plane + y * output.width + x));
      }
    }
    store<C>(resampling.input.elements, i, sum);
  }
}

Status forward(Stream& stream, const ResampleArgs& args) noexcept {
  const int64_t count = args.output.numel();
  return with_float_type(args.output.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), count), resample_kernel<C>, resampling_of(args), count);
  });
}

Status backward(Stream& stream, const ResampleArgs& args) noexcept {
  const int64_t count = args.input.numel();
  return with_float_type(args.output.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), count), resample_backward_kernel<C>, resampling_of(args),
                  count);
  });
}

}  // namespace

const ResampleKernels kResampleKernels = {
    .forward = forward,
    .backward = backward,
};

}  // namespace halftone::cuda
