// Sampling at the places of a grid. Points are counted over all batches.
#include "cuda/base/element.h"
#include "cuda/base/launch.h"
#include "cuda/resample/entries.h"

namespace halftone::cuda {
namespace {

constexpr int kPoints = 32;  // whose reads a block holds at a time

// args.input holds gradients in the backward of the input.
struct GridSampling {
  Elements input, grid, output;
  int64_t channels;
  int64_t points;  // of a batch
  int64_t sizes[3] = {}, strides[5] = {};
  int64_t grid_shape[5] = {}, grid_strides[5] = {};
  GridRule rule;
};

GridSampling sampling_of(const GridSampleArgs& args) {
  const Shape& shape = args.output.shape;
  GridSampling sampling = {.input = {args.input.data, args.input.dtype},
                           .grid = {args.grid.data, args.grid.dtype},
                           .output = {args.output.data, args.output.dtype},
                           .channels = shape[1],
                           .points = shape[2] * shape[3] * shape[4],
                           .rule = args.rule};
  for (int d = 0; d < 3; ++d) sampling.sizes[d] = args.input.shape[2 + d];
  for (int d = 0; d < 5; ++d) {
    sampling.strides[d] = args.input.strides[d];
    sampling.grid_shape[d] = args.grid.shape[d];
    sampling.grid_strides[d] = args.grid.strides[d];
  }
  return sampling;
}

template <class C>
HALFTONE_DEVICE GridPoint point_at(const GridSampling& sampling, int64_t batch, int64_t i) {
  const int64_t *shape = sampling.grid_shape, *strides = sampling.grid_strides;
  const int64_t row = i / shape[3];
  const int64_t at =
      batch * strides[0] + row / shape[2] * strides[1] + row % shape[2] * strides[2] + i % shape[3] * strides[3];
  double coordinates[3] = {};
  for (int k = 0; k < shape[4]; ++k) {
    coordinates[k] = static_cast<double>(load<C>(sampling.grid, at + k * strides[4]));
  }
  return grid_point(sampling.rule, coordinates, static_cast<int>(shape[4]), sampling.sizes);
}

template <class C>
HALFTONE_DEVICE C weighed(const Elements& input, int64_t plane, const GridReads<C>& reads) {
  C sum = 0;
  for (int k = 0; k < reads.count; ++k) sum += reads.weight[k] * load<C>(input, plane + reads.offset[k]);
  return sum;
}

// One thread for each point, which samples all channels.
template <class C>
HALFTONE_KERNEL sample_kernel(GridSampling sampling, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t batch = i / sampling.points, place = i % sampling.points;
    const GridReads<C> reads = grid_reads<C>(point_at<C>(sampling, batch, place), sampling.strides + 2, -1);
    for (int64_t c = 0; c < sampling.channels; ++c) {
      const int64_t plane = batch * sampling.strides[0] + c * sampling.strides[1];
      store<C>(sampling.output, (batch * sampling.channels + c) * sampling.points + place,
               weighed(sampling.input, plane, reads));
    }
  }
}

// One thread for each point, which adds up the slopes of all channels.
template <class C>
HALFTONE_KERNEL slope_kernel(GridSampling sampling, Elements grad_grid, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t batch = i / sampling.points, place = i % sampling.points;
    const GridPoint point = point_at<C>(sampling, batch, place);
    for (int k = 0; k < sampling.grid_shape[4]; ++k) {
      const GridReads<C> reads = grid_reads<C>(point, sampling.strides + 2, 2 - k);
      C sum = 0;
      for (int64_t c = 0; c < sampling.channels; ++c) {
        const int64_t plane = batch * sampling.strides[0] + c * sampling.strides[1];
        const int64_t at = (batch * sampling.channels + c) * sampling.points + place;
        sum += load<C>(sampling.output, at) * weighed(sampling.input, plane, reads);
      }
      store<C>(grad_grid, i * sampling.grid_shape[4] + k, sum);
    }
  }
}

// Block: one plane of one batch at a time. All threads go through all points in order, and each adds to the elements
// that are its own, so sums have one order.
template <class C>
HALFTONE_KERNEL spread_kernel(GridSampling sampling, int64_t planes) {
  __shared__ GridReads<C> reads[kPoints];
  const int64_t size = sampling.sizes[0] * sampling.sizes[1] * sampling.sizes[2];
  for (int64_t plane = blockIdx.x; plane < planes; plane += gridDim.x) {
    C* const sums = static_cast<C*>(sampling.input.data) + plane * size;
    for (int64_t e = threadIdx.x; e < size; e += kThreads) sums[e] = 0;
    for (int64_t first = 0; first < sampling.points; first += kPoints) {
      const int64_t left = sampling.points - first, count = left < kPoints ? left : kPoints;
      __syncthreads();  // the reads of the points before are overwritten
      if (threadIdx.x < count) {
        const GridPoint point = point_at<C>(sampling, plane / sampling.channels, first + threadIdx.x);
        reads[threadIdx.x] = grid_reads<C>(point, sampling.strides + 2, -1);
      }
      __syncthreads();
      for (int64_t i = 0; i < count; ++i) {
        const C value = load<C>(sampling.output, plane * sampling.points + first + i);
        for (int k = 0; k < reads[i].count; ++k) {
          const int64_t at = reads[i].offset[k];
          if (at % kThreads == threadIdx.x) sums[at] += reads[i].weight[k] * value;
        }
      }
    }
  }
}

}  // namespace

Status grid_sample(Stream& stream, const GridSampleArgs& args) noexcept {
  const GridSampling sampling = sampling_of(args);
  const int64_t count = args.output.shape[0] * sampling.points;
  return with_float_type(args.output.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), count), sample_kernel<C>, sampling, count);
  });
}

Status grid_backward(Stream& stream, const GridSampleArgs& args, const View& grad_grid) noexcept {
  const GridSampling sampling = sampling_of(args);
  const int64_t count = args.output.shape[0] * sampling.points;
  return with_float_type(args.output.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), count), slope_kernel<C>, sampling,
                  Elements{grad_grid.data, grad_grid.dtype}, count);
  });
}

Status grid_sample_backward(Stream& stream, const GridSampleArgs& args) noexcept {
  const int64_t planes = args.output.shape[0] * args.output.shape[1];
  return with_float_type(args.output.dtype, [&]<class C>() {
    return launch(stream, grid_for_rows(planes, kThreads), spread_kernel<C>, sampling_of(args), planes);
  });
}

}  // namespace halftone::cuda
