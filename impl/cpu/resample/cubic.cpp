// Images of another size by cubic convolution. The taps of all columns of a piece are computed once for all rows.
#include "backend/formula/cubic.h"

#include <algorithm>
#include <type_traits>

#include "cpu/pool/spans.h"
#include "cpu/resample/entries.h"
#include "cpu/resample/planes.h"

namespace halftone::cpu {

namespace {

constexpr int64_t kTapsPiece = 128;

// The places of the taps in a dimension, and their weights.
template <class C>
struct Taps {
  int64_t at[4];
  C weight[4];

  Taps() = default;
  Taps(const ResampleArgs& args, int dim, int64_t position) {
    const int64_t size = args.input.shape[2 + dim];
    const CubicTaps taps = cubic_taps(position, size, args.output.shape[2 + dim], args.aligns_corners);
    for (int k = 0; k < 4; ++k) {
      at[k] = clamped_tap(taps, k, size);
      weight[k] = static_cast<C>(taps.weight[k]);
    }
  }
};

// Calls f(place in the plane, taps of the row, taps of the column) for every element of the output, piece by piece.
template <class C, class F>
void for_each_output(const ResampleArgs& args, F&& f) {
  const int64_t width = args.output.shape[3];
  Taps<C> columns[kTapsPiece];
  for (int64_t begin = 0; begin < width; begin += kTapsPiece) {
    const int64_t count = std::min(kTapsPiece, width - begin);
    for (int64_t i = 0; i < count; ++i) columns[i] = Taps<C>(args, 1, begin + i);
    for (int64_t y = 0; y < args.output.shape[2]; ++y) {
      const Taps<C> row(args, 0, y);
      for (int64_t i = 0; i < count; ++i) f(y * width + begin + i, row, columns[i]);
    }
  }
}

template <class T, class C>
void cubic_plane(const ResampleArgs& args, int64_t plane) {
  const T* in = plane_at<T>(args.input, plane);
  T* out = plane_at<T>(args.output, plane);
  const int64_t down = args.input.strides[2], right = args.input.strides[3];
  for_each_output<C>(args, [&](int64_t at, const Taps<C>& row, const Taps<C>& column) {
    C sum = 0;
    for (int i = 0; i < 4; ++i) {
      const T* const line = in + row.at[i] * down;
      C part = 0;
      for (int j = 0; j < 4; ++j) part += column.weight[j] * static_cast<C>(line[column.at[j] * right]);
      sum += row.weight[i] * part;
    }
    out[at] = narrowed<T>(sum);
  });
}

template <class T, class C>
void spread_cubic_plane(const ResampleArgs& args, int64_t plane) {
  const T* grad = plane_at<T>(args.output, plane);
  C* out = plane_at<C>(args.input, plane);
  const int64_t width = args.input.shape[3];
  std::fill_n(out, args.input.shape[2] * width, C{0});
  for_each_output<C>(args, [&](int64_t at, const Taps<C>& row, const Taps<C>& column) {
    const C value = static_cast<C>(grad[at]);
    for (int i = 0; i < 4; ++i) {
      const C part = row.weight[i] * value;
      for (int j = 0; j < 4; ++j) out[row.at[i] * width + column.at[j]] += column.weight[j] * part;
    }
  });
}

}  // namespace

Status resample_cubic(Stream& stream, const ResampleArgs& args) noexcept {
  return for_each_image_plane(stream, args, [&]<class T, class C>(int64_t plane) { cubic_plane<T, C>(args, plane); });
}

Status resample_cubic_backward(Stream& stream, const ResampleArgs& args) noexcept {
  return for_each_image_plane(stream, args,
                              [&]<class T, class C>(int64_t plane) { spread_cubic_plane<T, C>(args, plane); });
}

}  // namespace halftone::cpu
