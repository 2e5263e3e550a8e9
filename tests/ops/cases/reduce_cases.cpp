// Sums, means and running sums along a dimension.
#include <cmath>
#include <limits>

#include "calls.h"
#include "ops/ops.h"
#include "terms.h"

namespace halftone {

namespace {

Sum sum_of(const std::vector<double>& terms) {
  Sum sum;
  for (const double term : terms) sum.add(term);
  return sum;
}

Reduced sum_of_terms(const std::vector<double>& terms) {
  const Sum sum = sum_of(terms);
  return {sum.value(), sum.slack_pairwise()};
}

Reduced mean_of_terms(const std::vector<double>& terms) {
  if (terms.empty()) return {std::numeric_limits<double>::quiet_NaN(), 0};
  const Sum sum = sum_of(terms);
  const auto count = static_cast<double>(terms.size());
  return {sum.value() / count, sum.slack_pairwise() / count};
}

Reduced log_sum_exp_of_terms(const std::vector<double>& terms) {
  if (terms.empty()) return {-std::numeric_limits<double>::infinity(), 0};
  std::vector<double> powers;
  for (const double term : terms) powers.push_back(std::exp(term));
  const Sum sum = sum_of(powers);
  const double result = std::log(sum.value());
  // The relative error of the sum becomes the absolute error of the logarithm; terms below 2 add their own rounding.
  return {result, sum.slack_pairwise() / sum.value() + kFunctionError * (std::fabs(result) + 4)};
}

// The sum of squared distances to the mean, divided by the number of terms minus `correction`. Kernels compute it in
// double, so their roundings are visible only in f64.
Reduced variance_of(const std::vector<double>& terms, double correction) {
  if (terms.empty()) return {std::numeric_limits<double>::quiet_NaN(), 0};
  const auto count = static_cast<double>(terms.size());
  const double mean = sum_of(terms).value() / count;
  Sum squares, distances;
  for (const double term : terms) {
    squares.add((term - mean) * (term - mean));
    distances.add(std::fabs(term - mean));
  }
  const double slack = squares.slack_pairwise() + 32 * distances.value();
  return {squares.value() / (count - correction), slack / (count - correction)};
}

Reduced var_of_terms(const std::vector<double>& terms) { return variance_of(terms, 0.5); }

Reduced std_of_terms(const std::vector<double>& terms) {
  const Reduced variance = variance_of(terms, 0);
  const double root = std::sqrt(variance.value);
  return {root, root == 0 ? 0 : variance.slack / (2 * root) + root};
}

Tensor var_of(const Tensor& x, const Shape& dims, bool keepdim) { return ops::var(x, dims, 0.5, keepdim); }
Tensor std_of(const Tensor& x, const Shape& dims, bool keepdim) { return ops::std(x, dims, 0, keepdim); }

using ReduceCall = Tensor (*)(const Tensor&, const Shape&, bool);

std::vector<OpCase> over_dims(Op op, ReduceCall call, Reduced (*reduce)(const std::vector<double>&), Dtypes dtypes) {
  std::vector<OpCase> cases;
  for (const ReducedDims& which : kReducedDims) {
    cases.push_back({.op = op,
                     .what = which.name,
                     // Close to equal elements, the curve of std bends too sharply for finite differences.
                     .inputs = {{op == Op::kStd ? distinct() : uniform(-2, 2)}},
                     .shapes = shapes_to_reduce(),
                     .run = call_of_one([=](const Tensor& x) { return call(x, which.dims, which.keepdim); }),
                     .reference = reduced(which, reduce),
                     .dtypes = dtypes,
                     .results = {float_or_i64}});
  }
  return cases;
}

// Both results at once.
std::vector<OpCase> var_mean_cases() {
  std::vector<OpCase> cases = over_dims(Op::kVarMean, var_of, var_of_terms, Dtypes::kFloats);
  for (size_t i = 0; i < cases.size(); ++i) {
    const ReducedDims& which = kReducedDims[i];
    cases[i].run = [which](const Tensors& in) {
      const auto [variance, mean] = ops::var_mean(in[0], which.dims, 0.5, which.keepdim);
      return Tensors{variance, mean};
    };
    cases[i].reference = [which](const Arrays& in) {
      return Arrays{reduced(which, var_of_terms)(in)[0], reduced(which, mean_of_terms)(in)[0]};
    };
  }
  return cases;
}

Arrays running_sums(const Arrays& in, int dim) {
  Array out(in[0].shape);
  const int64_t stride = contiguous_strides(in[0].shape)[dim];
  int64_t i = 0;
  for_each_index(out.shape, [&](const Shape& index) {
    Sum sum;
    for (int64_t back = index[dim]; back >= 0; --back) sum.add(in[0][i - back * stride]);
    out[i++] = sum.value();
    // Kernels add in double: one rounding per term in f64, almost none in other dtypes.
    out.slack.push_back(sum.slack_in_order());
  });
  return {out};
}

OpCase cumsum_case(int dim, std::vector<Shapes> shapes) {
  return {.op = Op::kCumsum,
          .what = dim == 0 ? "along the first dimension" : "along the last dimension",
          .inputs = {{uniform(-2, 2)}},
          .shapes = std::move(shapes),
          .run = call_of_one([dim](const Tensor& x) { return ops::cumsum(x, dim); }),
          .reference = [dim](const Arrays& in) { return running_sums(in, dim < 0 ? in[0].shape.rank() - 1 : dim); },
          .dtypes = Dtypes::kArithmetic,
          .results = {float_or_i64}};
}

// A sum that begins with 2^11, which the last term takes away again. In FP32 the terms between, below 2^-13, would be
// lost; in double all sums are exact. Rows of 17 terms are long enough for a loop of their own.
OpCase cumsum_of_small_terms_case(int dim, const Shape& shape) {
  OpCase result = cumsum_case(dim, {{shape}});
  result.what = dim == 0 ? "of small terms along the first dimension" : "of small terms along the last dimension";
  result.inputs = {{[dim](std::mt19937& random, const Shapes& shapes, int64_t i) {
    const int64_t length = dim == 0 ? shapes[0][0] : shapes[0][1];
    const int64_t place = dim == 0 ? i / shapes[0][1] : i % length;
    if (place == 0 || place == length - 1) return place == 0 ? 0x1p11 : -0x1p11;
    return static_cast<double>(1 + 2 * (random() % 64)) * 0x1p-21;
  }}};
  result.reference = [sums = result.reference](const Arrays& in) {
    Arrays out = sums(in);
    std::fill(out[0].slack.begin(), out[0].slack.end(), 0.0);
    return out;
  };
  result.dtypes = Dtypes::kFloats;
  result.has_gradient = false;  // that of a plain sum
  return result;
}

Arrays share_of_hits(const Arrays& in) {
  const int64_t rows = in[0].shape[0], classes = in[0].shape[1];
  double hits = 0;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c) {
      if (in[0][r * classes + c] > in[0][r * classes + best]) best = c;
    }
    hits += in[1][r] == static_cast<double>(best) ? 1 : 0;
  }
  Array out(Shape{});
  out[0] = hits / static_cast<double>(rows);
  return {out};
}

OpCase accuracy_case() {
  return {.op = Op::kAccuracy,
          .inputs = {{distinct()}, index_input(0, 1)},
          .shapes = {{{0, 3}, {0}}, {{1, 1}, {1}}, {{7, 5}, {7}}, {{15, 2305}, {15}}},
          .run = call_of_two(ops::accuracy),
          .reference = share_of_hits,
          .results = {as_f32}};
}

}  // namespace

std::vector<OpCase> reduce_cases() {
  std::vector<OpCase> cases = over_dims(Op::kSum, ops::sum, sum_of_terms, Dtypes::kArithmetic);
  for (const std::vector<OpCase>& part :
       {over_dims(Op::kMean, ops::mean, mean_of_terms, Dtypes::kFloats),
        over_dims(Op::kVar, var_of, var_of_terms, Dtypes::kFloats),
        over_dims(Op::kStd, std_of, std_of_terms, Dtypes::kFloats), var_mean_cases(),
        over_dims(Op::kLogSumExp, ops::log_sum_exp, log_sum_exp_of_terms, Dtypes::kFloats),
        std::vector<OpCase>{cumsum_case(0, {{{0, 3}}, {{1}}, {{7, 5}}, {{4, 3, 2}}, {{129, 271}}}),
                            cumsum_case(-1, {{{3, 0}}, {{1}}, {{7, 5}}, {{271, 129}}}),
                            cumsum_of_small_terms_case(0, {17, 5}), cumsum_of_small_terms_case(-1, {5, 17}),
                            accuracy_case()}}) {
    cases.insert(cases.end(), part.begin(), part.end());
  }
  return cases;
}

}  // namespace halftone
