// softmax and log_softmax along one dimension.
#include <algorithm>
#include <cmath>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

struct Line {
  double largest;
  Sum sum;  // of exp(x - largest)
};

Line line_of(const Array& x, int64_t first, int64_t stride, int64_t length) {
  Line line = {x[first], {}};
  for (int64_t j = 1; j < length; ++j) line.largest = std::max(line.largest, x[first + j * stride]);
  for (int64_t j = 0; j < length; ++j) line.sum.add(std::exp(x[first + j * stride] - line.largest));
  return line;
}

// Calls body(place, line) for every element.
template <class Body>
void for_each_element(const Array& x, int dim, Body&& body) {
  const int64_t stride = contiguous_strides(x.shape)[dim];
  int64_t i = 0;
  for_each_index(x.shape, [&](const Shape& index) {
    if (index[dim] == 0) {
      const Line line = line_of(x, i, stride, x.shape[dim]);
      for (int64_t j = 0; j < x.shape[dim]; ++j) body(i + j * stride, line);
    }
    ++i;
  });
}

// The error of an exponential is its own plus that of its argument, which is below 8; the sum adds its own.
Arrays softmax_of(const Array& x, int dim) {
  Array out(x.shape);
  out.slack.resize(out.values.size());
  for_each_element(x, dim, [&](int64_t i, const Line& line) {
    out[i] = std::exp(x[i] - line.largest) / line.sum.value();
    out.slack[static_cast<size_t>(i)] = out[i] * (2 * kFunctionError + line.sum.slack_pairwise() / line.sum.value());
  });
  return {out};
}

Arrays log_softmax_of(const Array& x, int dim) {
  Array out(x.shape);
  out.slack.resize(out.values.size());
  for_each_element(x, dim, [&](int64_t i, const Line& line) {
    const double logarithm = std::log(line.sum.value());
    out[i] = x[i] - line.largest - logarithm;
    out.slack[static_cast<size_t>(i)] = kFunctionError * (line.largest - x[i] + std::fabs(logarithm) + 1) +
                                        line.sum.slack_pairwise() / line.sum.value();
  });
  return {out};
}

using SoftmaxCall = Tensor (*)(const Tensor&, int64_t);
using SoftmaxReference = Arrays (*)(const Array&, int);

OpCase softmax_case(Op op, SoftmaxCall call, SoftmaxReference reference, int dim) {
  return {.op = op,
          .what = dim == 0   ? "along the first dimension"
                  : dim == 1 ? "along the middle"
                             : "along the last dimension",
          .inputs = {{uniform(-2, 2)}},
          .shapes = {{{0, 3, 2}}, {{2, 0, 3}}, {{1, 1, 1}}, {{3, 5, 7}}, {{33, 2, 3}}, {{3, 5, 2305}}, {{131, 3, 97}}},
          .run = call_of_one([=](const Tensor& x) { return call(x, dim); }),
          .reference = [=](const Arrays& in) { return reference(in[0], dim); },
          // Derivatives are computed from the results: the absolute error of log_softmax becomes a relative error of
          // its exponential.
          .gradient_roundings = 10};
}

}  // namespace

std::vector<OpCase> softmax_cases() {
  std::vector<OpCase> cases;
  for (const int dim : {0, 1, 2}) {
    cases.push_back(softmax_case(Op::kSoftmax, ops::softmax, softmax_of, dim));
    cases.push_back(softmax_case(Op::kLogSoftmax, ops::log_softmax, log_softmax_of, dim));
  }
  return cases;
}

}  // namespace halftone
