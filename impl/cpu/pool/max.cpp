// Maxima of windows. Windows inside the input whose stride is 1 to 3 are computed as vectors of positions; others one
// by one, or as plain loops where many follow each other.
#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pool/max.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/pool/adaptive_max.h"
#include "cpu/pool/entries.h"
#include "cpu/pool/spans.h"
#include "hwy/highway.h"
//
#include "cpu/pool/row_of_maxima.h"
#include "cpu/pool/vector_maxima.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

// A row of maxima costs as much as this many positions that are computed one by one.
constexpr int64_t kManyPositions = 9;

// The positions of a row that vectors may compute.
inline Positions vector_positions(const PoolArgs& args) {
  const int64_t stride = args.window.stride[1];
  const bool fits = stride == 1 || (stride <= 3 && args.window.dilation[1] == 1 && args.kernel[1] >= stride);
  const Positions inside = positions_inside(args, 1);
  const bool uses_vectors = fits && args.input.strides[3] == 1 && inside.end - inside.begin >= kFewestPositions;
  return uses_vectors ? inside : Positions{0, 0};
}

template <class T, class C>
class MaximaOfPlane {
 public:
  MaximaOfPlane(const PoolArgs& args, int64_t plane)
      : args_(args),
        rows_(positions_inside(args, 0)),
        columns_(vector_positions(args)),
        in_(plane_at<T>(args.input, plane)),
        out_(plane_at<T>(args.output, plane)),
        indices_(plane_at<int32_t>(args.indices, plane)) {}

  void run() {
    const int64_t width = args_.output.shape[3];
    for (int64_t y = 0; y < args_.output.shape[2]; ++y, out_ += width, indices_ += width) {
      const WindowElements rows = rows_of(y);
      const bool uses_vectors = columns_.begin < columns_.end && rows.count > 0;
      const Positions vectors = uses_vectors ? columns_ : Positions{0, 0};
      take_positions(y, rows, {0, vectors.begin});
      if (uses_vectors) take_vectors(rows);
      take_positions(y, rows, {vectors.end, width});
    }
  }

 private:
  WindowElements rows_of(int64_t y) const {
    const int64_t step = args_.window.dilation[0];
    if (rows_.contain(y)) return {y * args_.window.stride[0] - args_.window.padding[0], args_.kernel[0], step};
    return elements_inside(0, y);
  }

  WindowElements elements_inside(int dim, int64_t position) const {
    const TapRange taps = taps_inside(args_, dim, position, 1);
    const int64_t step = args_.window.dilation[dim];
    return {taps.origin + taps.begin * step, taps.end - taps.begin, step};
  }

  void take_vectors(const WindowElements& rows) const {
    const View& input = args_.input;
    const WindowTaps taps = {.rows = rows.count,
                             .columns = args_.kernel[1],
                             .row_step = rows.step * input.strides[2],
                             .row_index_step = rows.step * input.shape[3],
                             .column_step = args_.window.dilation[1]};
    const int64_t column = columns_.begin * args_.window.stride[1] - args_.window.padding[1];
    const T* in = in_ + rows.first * input.strides[2] + column;
    const int64_t count = columns_.end - columns_.begin;
    const MaximaTarget<T> target = {out_ + columns_.begin, indices_ + columns_.begin,
                                    rows.first * input.shape[3] + column};
    if (args_.window.stride[1] == 1) return store_maxima<1, C>(taps, in, count, target);
    if (args_.window.stride[1] == 2) return store_maxima<2, C>(taps, in, count, target);
    store_maxima<3, C>(taps, in, count, target);
  }

  // Windows further apart than the input is long share no element of the window, so they are taken one by one.
  void take_positions(int64_t y, const WindowElements& rows, const Positions& positions) const {
    const bool are_many = positions.end - positions.begin >= kManyPositions;
    if (are_many && args_.window.stride[1] <= args_.input.shape[3]) return take_rows(y, positions);
    for (int64_t x = positions.begin; x < positions.end; ++x) {
      const auto maximum = maximum_of<T, C>(args_.input, in_, rows, elements_inside(1, x));
      out_[x] = maximum.narrowed();
      indices_[x] = maximum.index;
    }
  }

  void take_rows(int64_t y, const Positions& positions) const {
    for (int64_t x = positions.begin; x < positions.end; x += kPositions) {
      RowOfMaxima<T, C> row(args_, x, std::min(kPositions, positions.end - x));
      row.take_window(in_, y);
      row.store(out_ + x, indices_ + x);
    }
  }

  const PoolArgs& args_;
  Positions rows_;
  Positions columns_;
  const T* in_;
  T* out_;            // the current row
  int32_t* indices_;  // as out_
};

void max_planes(ThreadPool& pool, const PoolArgs& args) {
  try_visit_dtype(FloatTypes{}, args.input.dtype, [&]<class T>() {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    for_each_plane(pool, args, [&](int64_t plane) {
      if (args.is_adaptive) return adaptive_max_of_plane<T, C>(args, plane);
      MaximaOfPlane<T, C>(args, plane).run();
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace halftone::cpu {
namespace {

HWY_EXPORT(max_planes);

}  // namespace

Status max_pool(Stream& stream, const PoolArgs& args) noexcept {
  HWY_DYNAMIC_DISPATCH(max_planes)(pool_of(stream), args);
  return {};
}

}  // namespace halftone::cpu

#endif  // HWY_ONCE
