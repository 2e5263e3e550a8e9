// Images of another size: one thread for each element that is written.
#include "backend/formula/cubic.h"
#include "cuda/base/kernel_groups.h"
#include "cuda/base/launch.h"
#include "cuda/pool/planes.h"
#include "cuda/resample/entries.h"
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

HALFTONE_DEVICE CubicTaps taps_at(const ResampleAxis& axis, int64_t position) {
  return cubic_taps(position, axis.size, axis.count, axis.aligns_corners);
}

template <class C>
HALFTONE_KERNEL cubic_kernel(Resampling resampling, int64_t count) {
  const Planes& input = resampling.input;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const PlanePlace place = place_in_plane(resampling.output, i);
    const CubicTaps row = taps_at(resampling.rows, place.y), column = taps_at(resampling.columns, place.x);
    const int64_t plane = plane_offset(input, place.plane);
    C sum = 0;
    for (int k = 0; k < 4; ++k) {
      const int64_t line = plane + clamped_tap(row, k, resampling.rows.size) * input.strides[2];
      C part = 0;
      for (int j = 0; j < 4; ++j) {
        const int64_t at = line + clamped_tap(column, j, resampling.columns.size) * input.strides[3];
        part += static_cast<C>(column.weight[j]) * load<C>(input.elements, at);
      }
      sum += static_cast<C>(row.weight[k]) * part;
    }
    store<C>(resampling.output.elements, i, sum);
  }
}

// The first position whose first tap is at `element` or behind it; taps rise with positions.
HALFTONE_DEVICE int64_t first_tap_at(const ResampleAxis& axis, int64_t element) {
  int64_t low = 0;
  int64_t high = axis.count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (taps_at(axis, middle).first < element) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class C>
HALFTONE_DEVICE C cubic_share_of(const ResampleAxis& axis, int64_t position, int64_t element) {
  const CubicTaps taps = taps_at(axis, position);
  C share = 0;
  for (int k = 0; k < 4; ++k) {
    if (clamped_tap(taps, k, axis.size) == element) share += static_cast<C>(taps.weight[k]);
  }
  return share;
}

// As resample_backward_kernel. An element is read by positions whose first tap is at most three before it.
template <class C>
HALFTONE_KERNEL cubic_backward_kernel(Resampling resampling, int64_t count) {
  const Planes& output = resampling.output;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const PlanePlace place = place_in_plane(resampling.input, i);
    const int64_t plane = place.plane * output.height * output.width;
    const int64_t top = first_tap_at(resampling.rows, place.y - 3);
    const int64_t bottom = first_tap_at(resampling.rows, place.y + 1);
    const int64_t left = first_tap_at(resampling.columns, place.x - 3);
    const int64_t right = first_tap_at(resampling.columns, place.x + 1);
    C sum = 0;
    for (int64_t y = top; y < bottom; ++y) {
      const C of_row = cubic_share_of<C>(resampling.rows, y, place.y);
      for (int64_t x = left; x < right; ++x) {
        const C of_column = cubic_share_of<C>(resampling.columns, x, place.x);
        sum += of_column * (of_row * load<C>(output.elements, plane + y * output.width + x));
      }
    }
    store<C>(resampling.input.elements, i, sum);
  }
}

Status forward(Stream& stream, const ResampleArgs& args) noexcept {
  const int64_t count = args.output.numel();
  return with_float_type(args.output.dtype, [&]<class C>() {
    const auto kernel = args.mode == ResampleMode::kCubic ? cubic_kernel<C> : resample_kernel<C>;
    return launch(stream, grid_for_items(device_of(stream), count), kernel, resampling_of(args), count);
  });
}

Status backward(Stream& stream, const ResampleArgs& args) noexcept {
  const int64_t count = args.input.numel();
  return with_float_type(args.output.dtype, [&]<class C>() {
    const auto kernel = args.mode == ResampleMode::kCubic ? cubic_backward_kernel<C> : resample_backward_kernel<C>;
    return launch(stream, grid_for_items(device_of(stream), count), kernel, resampling_of(args), count);
  });
}

}  // namespace

const ResampleKernels kResampleKernels = {
    .forward = forward,
    .backward = backward,
    .grid_sample = grid_sample,
    .grid_sample_backward = grid_sample_backward,
    .grid_backward = grid_backward,
};

}  // namespace halftone::cuda
