// Pooling: one thread for each element that is written. Backward gathers, so that the order of its sums is fixed.
#include <cmath>

#include "cuda/base/kernel_groups.h"
#include "cuda/base/launch.h"
#include "cuda/pool/planes.h"
#include "cuda/pool/window.h"

namespace halftone::cuda {
namespace {

struct Pooling {
  Planes input;
  Planes output;
  int32_t* indices;
  PoolAxis rows;
  PoolAxis columns;
};

Pooling pooling_of(const PoolArgs& args) {
  return {.input = planes_of(args.input),
          .output = planes_of(args.output),
          .indices = static_cast<int32_t*>(args.indices.data),
          .rows = pool_axis(args, 0),
          .columns = pool_axis(args, 1)};
}

// The first of equal maxima stays, and NaN replaces any value. The first element is taken even if it is -inf.
template <class C>
HALFTONE_DEVICE void max_at(const Pooling& pool, int64_t i) {
  const PlanePlace place = place_in_plane(pool.output, i);
  const Taps rows = taps_of(pool.rows, place.y);
  const Taps columns = taps_of(pool.columns, place.x);
  const int64_t plane = plane_offset(pool.input, place.plane);
  C best = -static_cast<C>(INFINITY);
  int64_t index = -1;
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t y = rows.first + r * rows.step;
    for (int64_t c = 0; c < columns.count; ++c) {
      const int64_t x = columns.first + c * columns.step;
      const C value = load<C>(pool.input.elements, plane + y * pool.input.strides[2] + x * pool.input.strides[3]);
      if (index >= 0 && !(value > best) && value == value) continue;
      best = value;
      index = y * pool.input.width + x;
    }
  }
  store<C>(pool.output.elements, i, best);
  pool.indices[i] = static_cast<int32_t>(index);
}

template <class C>
HALFTONE_KERNEL max_kernel(Pooling pool, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) max_at<C>(pool, i);
}

// The gradients of the windows that chose the element, in the order of the windows.
template <class C>
HALFTONE_KERNEL max_backward_kernel(Pooling pool, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const PlanePlace place = place_in_plane(pool.input, i);
    const PositionRange rows = positions_over(pool.rows, place.y);
    const PositionRange columns = positions_over(pool.columns, place.x);
    const int64_t plane = place.plane * pool.output.height * pool.output.width;
    const auto own = static_cast<int32_t>(place.y * pool.input.width + place.x);
    C sum = 0;
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const int64_t window = plane + y * pool.output.width + x;
        if (pool.indices[window] == own) sum += load<C>(pool.output.elements, window);
      }
    }
    store<C>(pool.input.elements, i, sum);
  }
}

// Adds each column first, as the CPU does.
template <class C>
HALFTONE_DEVICE C window_sum(const Pooling& pool, int64_t plane, const Taps& rows, const Taps& columns) {
  C sum = 0;
  for (int64_t c = 0; c < columns.count; ++c) {
    C of_column = 0;
    for (int64_t r = 0; r < rows.count; ++r) {
      of_column += load<C>(pool.input.elements, plane + (rows.first + r) * pool.input.strides[2] +
                                                    (columns.first + c) * pool.input.strides[3]);
    }
    sum += of_column;
  }
  return sum;
}

template <class C>
HALFTONE_KERNEL average_kernel(Pooling pool, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const PlanePlace place = place_in_plane(pool.output, i);
    const Taps rows = taps_of(pool.rows, place.y);
    const Taps columns = taps_of(pool.columns, place.x);
    const C sum = window_sum<C>(pool, plane_offset(pool.input, place.plane), rows, columns);
    store<C>(pool.output.elements, i, sum / static_cast<C>(rows.counted * columns.counted));
  }
}

// Each window over the element gives it a share of its gradient.
template <class C>
HALFTONE_KERNEL average_backward_kernel(Pooling pool, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const PlanePlace place = place_in_plane(pool.input, i);
    const PositionRange rows = positions_over(pool.rows, place.y);
    const PositionRange columns = positions_over(pool.columns, place.x);
    const int64_t plane = place.plane * pool.output.height * pool.output.width;
    C sum = 0;
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      const int64_t height = taps_of(pool.rows, y).counted;
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const C grad = load<C>(pool.output.elements, plane + y * pool.output.width + x);
        sum += grad / static_cast<C>(height * taps_of(pool.columns, x).counted);
      }
    }
    store<C>(pool.input.elements, i, sum);
  }
}

Status max(Stream& stream, const PoolArgs& args) noexcept {
  const int64_t count = args.output.numel();
  return with_float_type(args.input.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), count), max_kernel<C>, pooling_of(args), count);
  });
}

Status max_backward(Stream& stream, const PoolArgs& args) noexcept {
  const int64_t count = args.input.numel();
  return with_float_type(args.output.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), count), max_backward_kernel<C>, pooling_of(args), count);
  });
}

Status average(Stream& stream, const PoolArgs& args) noexcept {
  const int64_t count = args.output.numel();
  return with_float_type(args.output.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), count), average_kernel<C>, pooling_of(args), count);
  });
}

Status average_backward(Stream& stream, const PoolArgs& args) noexcept {
  const int64_t count = args.input.numel();
  return with_float_type(args.output.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), count), average_backward_kernel<C>, pooling_of(args),
                  count);
  });
}

}  // namespace

const PoolKernels kPoolKernels = {
    .max = max,
    .max_backward = max_backward,
    .average = average,
    .average_backward = average_backward,
};

}  // namespace halftone::cuda
