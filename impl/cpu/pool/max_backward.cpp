// Gradients of maxima of windows: they are added to a plane of zeros. Pairs of 16-bit gradients are written once, row
// by row, because to round them one by one takes longer; zeros of 32 bits are written so fast that a second pass is not
// slower.
#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pool/max_backward.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/pool/entries.h"
#include "cpu/pool/spans.h"
#include "hwy/highway.h"
//
#include "cpu/pool/vector_gradients.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

// `G`: the type of the gradients that are written, C or T.
template <class T, class C, class G>
class GradientsOfPlane {
 public:
  GradientsOfPlane(const PoolArgs& args, int64_t plane)
      : args_(args),
        height_(args.input.shape[2]),
        width_(args.input.shape[3]),
        grad_(plane_at<T>(args.output, plane)),
        indices_(plane_at<int32_t>(args.indices, plane)),
        out_(plane_at<G>(args.input, plane)) {}

  // Every element that no window covers is 0. `columns`: positions whose pairs of columns are inside the input.
  void write_rows(const Positions& columns) const {
    const int64_t padding = args_.window.padding[0];
    for (int64_t y = 0; y < height_; ++y) {
      const int64_t position = (y + padding) / 2;
      if (position < args_.output.shape[2]) {
        write_row(y, position * args_.output.shape[3], columns);
      } else {
        std::fill_n(out_ + y * width_, width_, G{});
      }
    }
  }

  void add() const {
    std::fill_n(out_, height_ * width_, G{});
    for (int64_t i = 0; i < args_.output.shape[2] * args_.output.shape[3]; ++i) {
      if (indices_[i] < 0) continue;
      G& sum = out_[indices_[i]];
      sum = added(sum, grad_[i]);
    }
  }

 private:
  // G{} + grad in the compute type. A T that is written is the only addend of its element.
  static G added(G sum, T grad) {
    const C value = static_cast<C>(sum) + static_cast<C>(grad);
    if constexpr (std::is_same_v<G, C>) {
      return value;
    } else {
      return G::from(value);
    }
  }

  // One row of the input; `first` is the first position of the row of windows that covers it.
  void write_row(int64_t y, int64_t first, const Positions& columns) const {
    G* row = out_ + y * width_;
    const int64_t begin = 2 * columns.begin - args_.window.padding[1];
    const int64_t end = begin + 2 * (columns.end - columns.begin);
    std::fill(row, row + begin, G{});
    store_gradients<C>(grad_ + first + columns.begin, indices_ + first + columns.begin, columns.end - columns.begin,
                       y * width_ + begin, row + begin);
    std::fill(row + end, row + width_, G{});
    for (int64_t x = 0; x < columns.begin; ++x) write_position(y, first + x);
    for (int64_t x = columns.end; x < args_.output.shape[3]; ++x) write_position(y, first + x);
  }

  void write_position(int64_t y, int64_t position) const {
    const int64_t index = indices_[position];
    if (index >= y * width_ && index < (y + 1) * width_) out_[index] = added(G{}, grad_[position]);
  }

  const PoolArgs& args_;
  int64_t height_;
  int64_t width_;
  const T* grad_;
  const int32_t* indices_;
  G* out_;
};

// True if windows are pairs of rows and columns side by side.
inline bool are_pairs(const PoolArgs& args) {
  const auto is_pair = [&](int dim) {
    return args.kernel[dim] == 2 && args.window.stride[dim] == 2 && args.window.dilation[dim] == 1;
  };
  return !args.is_adaptive && is_pair(0) && is_pair(1);
}

template <class T, class C, class G>
void write_planes(ThreadPool& pool, const PoolArgs& args) {
  const Positions columns = are_pairs(args) ? positions_inside(args, 1) : Positions{0, 0};
  for_each_plane(pool, args, [&](int64_t plane) {
    const GradientsOfPlane<T, C, G> gradients(args, plane);
    if constexpr (!std::is_same_v<G, C>) {
      if (columns.end - columns.begin >= kFewestGradients) return gradients.write_rows(columns);
    }
    gradients.add();
  });
}

void spread_maxima(ThreadPool& pool, const PoolArgs& args) {
  try_visit_dtype(FloatTypes{}, args.output.dtype, [&]<class T>() {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    if (args.input.dtype == dtype_of<C>) return write_planes<T, C, C>(pool, args);
    write_planes<T, C, T>(pool, args);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace halftone::cpu {
namespace {

HWY_EXPORT(spread_maxima);

}  // namespace

Status max_pool_backward(Stream& stream, const PoolArgs& args) noexcept {
  HWY_DYNAMIC_DISPATCH(spread_maxima)(pool_of(stream), args);
  return {};
}

}  // namespace halftone::cpu

#endif  // HWY_ONCE
