#include <cmath>
#include <limits>

#include "cuda/norm/entries.h"
#include "cuda/norm/softmax.h"
#include "cuda/reduce/log_sum_exp.h"

namespace halftone::cuda {
namespace {

enum class Kind { kSoftmax, kLogSoftmax };
enum : int { kX, kOut };

template <class C>
struct Larger {
  HALFTONE_DEVICE C operator()(C a, C b) const { return a > b ? a : b; }
};

// ---- Rows in registers. As on the CPU the largest element may skip NaN, and the difference to an infinite one is NaN.

template <Kind kind, class C, int T>
HALFTONE_DEVICE void softmax_row(const RowReader<T, 2>& row) {
  constexpr C kNone = -std::numeric_limits<C>::infinity();
  const auto tile = [&](int64_t k, C(&values)[kTile]) { row.load(kX, k, kNone, values); };
  RowValues<C, true> values(row.tiles(), tile);
  C largest = kNone;
  values.each(row.tiles(), tile, [&](int64_t, C(&x)[kTile]) {
#pragma unroll
    for (int i = 0; i < kTile; ++i) largest = Larger<C>()(x[i], largest);
  });
  largest = reduce_row<T>(largest, kNone, Larger<C>());
  C sum = 0;
  values.each(row.tiles(), tile, [&](int64_t, C(&x)[kTile]) {
    C exps[kTile];
#pragma unroll
    for (int i = 0; i < kTile; ++i) {
      x[i] = x[i] - largest;
      exps[i] = std::exp(x[i]);
      if constexpr (kind == Kind::kSoftmax) x[i] = exps[i];
    }
    sum += combined<Plus>(exps);
  });
  sum = sum_row<T>(sum);
  // One division for a row, and not one for each element.
  const C end = kind == Kind::kSoftmax ? C(1) / sum : std::log(sum);
  values.each(row.tiles(), tile, [&](int64_t k, C(&x)[kTile]) {
#pragma unroll
    for (int i = 0; i < kTile; ++i) x[i] = kind == Kind::kSoftmax ? x[i] * end : x[i] - end;
    row.store(kOut, k, x);
  });
}

template <Kind kind, class C, int T>
HALFTONE_KERNEL softmax_rows(RowSet<2> set) {
  for_each_row<T>(set.rows, [&](int64_t row) { softmax_row<kind, C, T>(RowReader<T, 2>(set, row)); });
}

// ---- Other rows

template <Kind kind, class Element>
struct SoftmaxOf {
  using C = Element;
  using State = ExpSum<C>;
  static constexpr int kLarge = 1;

  C largest = {};
  C end = {};

  HALFTONE_DEVICE State none() const { return no_exp_sum<C>(); }
  HALFTONE_DEVICE State combine(const State& a, const State& b) const { return joined(a, b); }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t*) {}
  HALFTONE_DEVICE void add(State& state, const auto& values, int64_t, int64_t) const { add_exps(state, values[0]); }
  HALFTONE_DEVICE void finish(const State&, const int64_t*) const {}
  HALFTONE_DEVICE void prepare(const State& state) {
    const C sum = state.sum_below_largest();
    largest = state.largest;
    end = kind == Kind::kSoftmax ? C(1) / sum : std::log(sum);
  }
  template <int K>
  HALFTONE_DEVICE void result(const C (&x)[1][K], int64_t, int64_t, C (&results)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const C below = x[0][k] - largest;
      results[k] = kind == Kind::kSoftmax ? std::exp(below) * end : below - end;
    }
  }
};

template <Kind kind>
Status run(Stream& stream, const View& x, int dim, const View& out) {
  if (x.numel() == 0) return {};
  return with_row_type(x, out, [&]<class C>() {
    if (!takes_rows({&x, &out}, dim)) {
      const View starts = starts_along(x, dim);
      return spread(stream, SoftmaxOf<kind, C>{}, {&x, &out}, {&starts});
    }
    const View from = with_last(x, dim), to = with_last(out, dim);
    const int64_t length = length_along(x, dim);
    const RowSet<2> set = row_set({&from, &to}, x.numel() / length);
    const bool is_short = fits_in_registers(length, kWarp);
    return launch(stream, grid_for_row_threads(set.rows, is_short ? kWarp : kThreads),
                  is_short ? softmax_rows<kind, C, kWarp> : softmax_rows<kind, C, kThreads>, set);
  });
}

}  // namespace

Status softmax(Stream& stream, const View& x, int dim, const View& out) noexcept {
  return run<Kind::kSoftmax>(stream, x, dim, out);
}

Status log_softmax(Stream& stream, const View& x, int dim, const View& out) noexcept {
  return run<Kind::kLogSoftmax>(stream, x, dim, out);
}

}  // namespace halftone::cuda
