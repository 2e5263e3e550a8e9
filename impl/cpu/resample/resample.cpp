// Images of another size. Columns are cut into pieces whose neighbours are computed once for all rows of a plane.
#include <algorithm>

#include "cpu/pool/spans.h"
#include "cpu/resample/entries.h"
#include "cpu/resample/planes.h"

namespace halftone::cpu {

namespace {

// The elements that a position reads: first + share * (second - first). Only the first one counts for kNearest.
template <class C>
struct Neighbours {
  int64_t first;
  int64_t second;
  C share;
};

// A place along a dimension, exact: the products of two sizes do not fit 64 bits.
struct Place {
  __int128 numerator;
  __int128 denominator;
};

Place place_of(const ResampleArgs& args, __int128 position, __int128 size, __int128 count) {
  if (args.mode == ResampleMode::kNearest) return {position * size, count};
  if (args.aligns_corners) return {position * (size - 1), std::max<__int128>(1, count - 1)};
  return {std::max<__int128>(0, (2 * position + 1) * size - count), 2 * count};
}

template <class C>
Neighbours<C> neighbours_of(const ResampleArgs& args, int dim, int64_t position) {
  const int64_t size = args.input.shape[2 + dim];
  const Place place = place_of(args, position, size, args.output.shape[2 + dim]);
  const auto first = static_cast<int64_t>(place.numerator / place.denominator);
  const auto rest = static_cast<double>(static_cast<int64_t>(place.numerator % place.denominator));
  const double share = rest / static_cast<double>(static_cast<int64_t>(place.denominator));
  return {first, std::min(first + 1, size - 1), static_cast<C>(share)};
}

// Calls f(place in the plane, neighbours of the row, neighbours of the columns, columns) for every row of every piece
// of columns.
constexpr int64_t kPiece = 256;

template <class C, class F>
void for_each_piece(const ResampleArgs& args, F&& f) {
  const int64_t width = args.output.shape[3];
  Neighbours<C> columns[kPiece];
  for (int64_t begin = 0; begin < width; begin += kPiece) {
    const int64_t count = std::min(kPiece, width - begin);
    for (int64_t i = 0; i < count; ++i) columns[i] = neighbours_of<C>(args, 1, begin + i);
    for (int64_t y = 0; y < args.output.shape[2]; ++y) {
      f(y * width + begin, neighbours_of<C>(args, 0, y), columns, count);
    }
  }
}

template <class T, class C>
void copy_plane(const ResampleArgs& args, int64_t plane) {
  const T* in = plane_at<T>(args.input, plane);
  T* out = plane_at<T>(args.output, plane);
  const int64_t down = args.input.strides[2], right = args.input.strides[3];
  for_each_piece<C>(args, [&](int64_t at, const Neighbours<C>& row, const Neighbours<C>* columns, int64_t count) {
    const T* const line = in + row.first * down;
    for (int64_t i = 0; i < count; ++i) out[at + i] = line[columns[i].first * right];
  });
}

template <class T, class C>
void blend_plane(const ResampleArgs& args, int64_t plane) {
  const T* in = plane_at<T>(args.input, plane);
  T* out = plane_at<T>(args.output, plane);
  const int64_t down = args.input.strides[2], right = args.input.strides[3];
  for_each_piece<C>(args, [&](int64_t at, const Neighbours<C>& row, const Neighbours<C>* columns, int64_t count) {
    const auto blend = [&](const T* line, const Neighbours<C>& column) {
      const C first = static_cast<C>(line[column.first * right]), second = static_cast<C>(line[column.second * right]);
      return (C{1} - column.share) * first + column.share * second;
    };
    const T* const above = in + row.first * down;
    const T* const below = in + row.second * down;
    for (int64_t i = 0; i < count; ++i) {
      const C value = (C{1} - row.share) * blend(above, columns[i]) + row.share * blend(below, columns[i]);
      out[at + i] = narrowed<T>(value);
    }
  });
}

// Adds each output's gradient to the elements that it was computed from.
template <class T, class C>
void spread_plane(const ResampleArgs& args, int64_t plane) {
  const T* grad = plane_at<T>(args.output, plane);
  C* out = plane_at<C>(args.input, plane);
  const int64_t width = args.input.shape[3];
  const bool copies = args.mode == ResampleMode::kNearest;
  std::fill_n(out, args.input.shape[2] * width, C{0});
  for_each_piece<C>(args, [&](int64_t at, const Neighbours<C>& row, const Neighbours<C>* columns, int64_t count) {
    C* const above = out + row.first * width;
    C* const below = out + row.second * width;
    for (int64_t i = 0; i < count; ++i) {
      const C value = static_cast<C>(grad[at + i]);
      const Neighbours<C>& column = columns[i];
      if (copies) {
        above[column.first] += value;
        continue;
      }
      const C upper = (C{1} - row.share) * value, lower = row.share * value;
      above[column.first] += (C{1} - column.share) * upper;
      above[column.second] += column.share * upper;
      below[column.first] += (C{1} - column.share) * lower;
      below[column.second] += column.share * lower;
    }
  });
}

}  // namespace

Status resample(Stream& stream, const ResampleArgs& args) noexcept {
  if (args.mode == ResampleMode::kCubic) return resample_cubic(stream, args);
  return for_each_image_plane(stream, args, [&]<class T, class C>(int64_t plane) {
    args.mode == ResampleMode::kNearest ? copy_plane<T, C>(args, plane) : blend_plane<T, C>(args, plane);
  });
}

Status resample_backward(Stream& stream, const ResampleArgs& args) noexcept {
  if (args.mode == ResampleMode::kCubic) return resample_cubic_backward(stream, args);
  return for_each_image_plane(stream, args, [&]<class T, class C>(int64_t plane) { spread_plane<T, C>(args, plane); });
}

}  // namespace halftone::cpu
