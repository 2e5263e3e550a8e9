#include <cmath>

#include "backend/formula/softmax.h"
#include "cuda/norm/entries.h"
#include "cuda/norm/softmax.h"
#include "cuda/reduce/combine.h"

namespace halftone::cuda {
namespace {

enum class Kind { kSoftmax, kLogSoftmax };
enum : int { kGrad, kResult, kOut };

// A term of the row's sum, and the gradient of one element.
template <Kind kind, class C>
HALFTONE_DEVICE C term_of(C grad, C result) {
  return kind == Kind::kSoftmax ? grad * result : grad;
}
template <Kind kind, class C>
HALFTONE_DEVICE C gradient_of(C grad, C result, C sum) {
  if constexpr (kind == Kind::kSoftmax) return softmax_gradient(grad, result, sum);
  return log_softmax_gradient(grad, static_cast<C>(std::exp(result)), sum);
}

// ---- Rows in registers

template <Kind kind, class C, int T>
HALFTONE_DEVICE void gradient_row(const RowReader<T, 3>& row) {
  const auto grad_tile = [&](int64_t k, C(&values)[kTile]) { row.load(kGrad, k, C(0), values); };
  const auto result_tile = [&](int64_t k, C(&values)[kTile]) { row.load(kResult, k, C(0), values); };
  C grads[kRowTiles][kTile];
  C results[kRowTiles][kTile];
  C sum = 0;
#pragma unroll
  for (int k = 0; k < kRowTiles; ++k) {
    if (k >= row.tiles()) continue;
    grad_tile(k, grads[k]);
    result_tile(k, results[k]);
    C terms[kTile];
#pragma unroll
    for (int i = 0; i < kTile; ++i) terms[i] = term_of<kind>(grads[k][i], results[k][i]);
    sum += combined<Plus>(terms);
  }
  sum = sum_row<T>(sum);
#pragma unroll
  for (int k = 0; k < kRowTiles; ++k) {
    if (k >= row.tiles()) continue;
#pragma unroll
    for (int i = 0; i < kTile; ++i) grads[k][i] = gradient_of<kind>(grads[k][i], results[k][i], sum);
    row.store(kOut, k, grads[k]);
  }
}

template <Kind kind, class C, int T>
HALFTONE_KERNEL gradient_rows(RowSet<3> set) {
  for_each_row<T>(set.rows, [&](int64_t row) { gradient_row<kind, C, T>(RowReader<T, 3>(set, row)); });
}

// ---- Other rows

template <Kind kind, class Element>
struct GradientOf {
  using C = Element;
  using State = Element;
  static constexpr int kLarge = 2;

  C sum = {};

  HALFTONE_DEVICE State none() const { return C(0); }
  HALFTONE_DEVICE State combine(State a, State b) const { return a + b; }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t*) {}
  template <int K>
  HALFTONE_DEVICE void add(State& state, const C (&values)[2][K], int64_t, int64_t) const {
    C terms[K];
#pragma unroll
    for (int k = 0; k < K; ++k) terms[k] = term_of<kind>(values[0][k], values[1][k]);
    state += combined<Plus>(terms);
  }
  HALFTONE_DEVICE void finish(State, const int64_t*) const {}
  HALFTONE_DEVICE void prepare(State state) { sum = state; }
  template <int K>
  HALFTONE_DEVICE void result(const C (&values)[2][K], int64_t, int64_t, C (&results)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) results[k] = gradient_of<kind>(values[0][k], values[1][k], sum);
  }
};

template <Kind kind>
Status run(Stream& stream, const View& grad, const View& result, int dim, const View& out) {
  if (grad.numel() == 0) return {};
  return with_row_type(result, out, [&]<class C>() {
    if (!takes_rows({&grad, &result, &out}, dim)) {
      const View starts = starts_along(grad, dim);
      return spread(stream, GradientOf<kind, C>{}, {&grad, &result, &out}, {&starts});
    }
    const View grads = with_last(grad, dim), results = with_last(result, dim), to = with_last(out, dim);
    const int64_t length = length_along(grad, dim);
    const RowSet<3> set = row_set({&grads, &results, &to}, grad.numel() / length);
    const bool is_short = fits_in_registers(length, kWarp);
    return launch(stream, grid_for_row_threads(set.rows, is_short ? kWarp : kThreads),
                  is_short ? gradient_rows<kind, C, kWarp> : gradient_rows<kind, C, kThreads>, set);
  });
}

}  // namespace

Status softmax_backward(Stream& stream, const View& grad_output, const View& result, int dim,
                        const View& grad_input) noexcept {
  return run<Kind::kSoftmax>(stream, grad_output, result, dim, grad_input);
}

Status log_softmax_backward(Stream& stream, const View& grad_output, const View& result, int dim,
                            const View& grad_input) noexcept {
  return run<Kind::kLogSoftmax>(stream, grad_output, result, dim, grad_input);
}

}  // namespace halftone::cuda
