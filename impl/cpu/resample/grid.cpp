// Sampling at the places of a grid. The reads of a piece of points are computed once for all channels of a task.
#include <algorithm>
#include <type_traits>

#include "cpu/pool/spans.h"
#include "cpu/resample/entries.h"
#include "cpu/resample/planes.h"

namespace halftone::cpu {

namespace {

constexpr int64_t kPoints = 16;   // of a piece; their reads take 17 KiB of a stack that may have 64
constexpr int64_t kChannels = 4;  // that one task adds gradients to

int64_t points_of(const GridSampleArgs& args) {
  return args.output.shape[2] * args.output.shape[3] * args.output.shape[4];
}

// Points [first, first + count) of a batch's grid, in row-major order.
struct Piece {
  int64_t batch;
  int64_t first;
  int64_t count;
};

template <class T, class C>
GridPoint point_at(const GridSampleArgs& args, int64_t batch, int64_t i) {
  const Shape &shape = args.grid.shape, &strides = args.grid.strides;
  const int64_t row = i / shape[3];
  const T* const at = static_cast<const T*>(args.grid.data) + batch * strides[0] + row / shape[2] * strides[1] +
                      row % shape[2] * strides[2] + i % shape[3] * strides[3];
  const int dims = static_cast<int>(shape[4]);
  double coordinates[3] = {};
  for (int k = 0; k < dims; ++k) coordinates[k] = static_cast<double>(static_cast<C>(at[k * strides[4]]));
  return grid_point(args.rule, coordinates, dims, args.input.shape.begin() + 2);
}

template <class T, class C>
void read_points(const GridSampleArgs& args, const Piece& piece, int slope_dim, GridReads<C>* reads) {
  for (int64_t i = 0; i < piece.count; ++i) {
    reads[i] =
        grid_reads<C>(point_at<T, C>(args, piece.batch, piece.first + i), args.input.strides.begin() + 2, slope_dim);
  }
}

template <class T, class C>
C weighed(const T* plane, const GridReads<C>& reads) {
  C sum = 0;
  for (int k = 0; k < reads.count; ++k) sum += reads.weight[k] * static_cast<C>(plane[reads.offset[k]]);
  return sum;
}

// The output's elements at the piece's points, of one channel.
template <class T>
T* output_at(const GridSampleArgs& args, const Piece& piece, int64_t channel) {
  return static_cast<T*>(args.output.data) + (piece.batch * args.output.shape[1] + channel) * points_of(args) +
         piece.first;
}

template <class T, class C>
void sample_piece(const GridSampleArgs& args, const Piece& piece) {
  GridReads<C> reads[kPoints];
  read_points<T>(args, piece, -1, reads);
  const int64_t channels = args.input.shape[1];
  for (int64_t c = 0; c < channels; ++c) {
    const T* const in = plane_at<T>(args.input, piece.batch * channels + c);
    T* const out = output_at<T>(args, piece, c);
    for (int64_t i = 0; i < piece.count; ++i) out[i] = narrowed<T>(weighed(in, reads[i]));
  }
}

// The gradients of one coordinate at the piece's points.
template <class T, class C>
void slope_piece(const GridSampleArgs& args, const View& grad_grid, const Piece& piece, int dim) {
  GridReads<C> reads[kPoints];
  read_points<T>(args, piece, dim, reads);
  const int64_t channels = args.input.shape[1], coordinates = args.grid.shape[4];
  C sums[kPoints] = {};
  for (int64_t c = 0; c < channels; ++c) {
    const T* const in = plane_at<T>(args.input, piece.batch * channels + c);
    const T* const grad = output_at<T>(args, piece, c);
    for (int64_t i = 0; i < piece.count; ++i) sums[i] += static_cast<C>(grad[i]) * weighed(in, reads[i]);
  }
  T* const out =
      static_cast<T*>(grad_grid.data) + (piece.batch * points_of(args) + piece.first) * coordinates + (2 - dim);
  for (int64_t i = 0; i < piece.count; ++i) out[i * coordinates] = narrowed<T>(sums[i]);
}

// Gradients that meet at an element add up in the order of the points.
template <class T, class C>
void spread_channels(const GridSampleArgs& args, int64_t batch, int64_t begin, int64_t end) {
  const int64_t points = points_of(args), channels = args.input.shape[1];
  C* const first_plane = plane_at<C>(args.input, batch * channels + begin);
  std::fill(first_plane, first_plane + (end - begin) * args.input.strides[1], C{0});
  for (int64_t first = 0; first < points; first += kPoints) {
    const Piece piece = {batch, first, std::min(kPoints, points - first)};
    GridReads<C> reads[kPoints];
    read_points<T>(args, piece, -1, reads);
    for (int64_t c = begin; c < end; ++c) {
      C* const out = plane_at<C>(args.input, batch * channels + c);
      const T* const grad = output_at<T>(args, piece, c);
      for (int64_t i = 0; i < piece.count; ++i) {
        const C value = static_cast<C>(grad[i]);
        for (int k = 0; k < reads[i].count; ++k) out[reads[i].offset[k]] += reads[i].weight[k] * value;
      }
    }
  }
}

// Calls f.operator()<T, C>(batch, index) for `each` indices of every batch, side by side.
template <class F>
Status for_each_task(Stream& stream, const GridSampleArgs& args, int64_t each, F&& f) {
  const bool known = try_visit_dtype(FloatTypes{}, args.output.dtype, [&]<class T>() {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    pool_of(stream).parallel_for(args.output.shape[0] * each,
                                 [&](int64_t i, int) { f.template operator()<T, C>(i / each, i % each); });
  });
  if (known) return {};
  return Status::failure(Code::kUnsupported, "grid_sample has no kernel for %s", name_of(args.output.dtype));
}

// Calls f.operator()<T, C>(piece) for every piece of the grid.
template <class F>
Status for_each_grid_piece(Stream& stream, const GridSampleArgs& args, F&& f) {
  const int64_t points = points_of(args);
  return for_each_task(stream, args, ceil_quotient(points, kPoints), [&]<class T, class C>(int64_t batch, int64_t i) {
    f.template operator()<T, C>(Piece{batch, i * kPoints, std::min(kPoints, points - i * kPoints)});
  });
}

}  // namespace

Status grid_sample(Stream& stream, const GridSampleArgs& args) noexcept {
  return for_each_grid_piece(stream, args,
                             [&]<class T, class C>(const Piece& piece) { sample_piece<T, C>(args, piece); });
}

Status grid_backward(Stream& stream, const GridSampleArgs& args, const View& grad_grid) noexcept {
  return for_each_grid_piece(stream, args, [&]<class T, class C>(const Piece& piece) {
    for (int dim = 3 - static_cast<int>(args.grid.shape[4]); dim < 3; ++dim) {
      slope_piece<T, C>(args, grad_grid, piece, dim);
    }
  });
}

Status grid_sample_backward(Stream& stream, const GridSampleArgs& args) noexcept {
  const int64_t channels = args.input.shape[1];
  return for_each_task(stream, args, ceil_quotient(channels, kChannels),
                       [&]<class T, class C>(int64_t batch, int64_t i) {
                         spread_channels<T, C>(args, batch, i * kChannels, std::min(channels, (i + 1) * kChannels));
                       });
}

}  // namespace halftone::cpu
