// Minimum and maximum, with their indices.
#include <algorithm>
#include <cmath>

#include "calls.h"
#include "ops/ops.h"
#include "terms.h"

namespace halftone {

namespace {

// NaN is the largest and the smallest.
std::vector<double>::const_iterator first_largest(const std::vector<double>& terms) {
  return std::max_element(terms.begin(), terms.end(),
                          [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
}
std::vector<double>::const_iterator first_smallest(const std::vector<double>& terms) {
  return std::min_element(terms.begin(), terms.end(),
                          [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; });
}

Reduced largest_of(const std::vector<double>& terms) { return {*first_largest(terms), 0}; }
Reduced smallest_of(const std::vector<double>& terms) { return {*first_smallest(terms), 0}; }
Reduced any_of(const std::vector<double>& terms) {
  return {std::any_of(terms.begin(), terms.end(), [](double x) { return x != 0; }) ? 1.0 : 0.0, 0};
}
Reduced all_of(const std::vector<double>& terms) {
  return {std::all_of(terms.begin(), terms.end(), [](double x) { return x != 0; }) ? 1.0 : 0.0, 0};
}

using ReduceCall = Tensor (*)(const Tensor&, const Shape&, bool);

// A reduced size of 0 leaves nothing to choose from, so only empty results are valid.
std::vector<Shapes> shapes_to_choose(const ReducedDims& which) {
  std::vector<Shapes> result;
  for (const Shapes& shapes : shapes_to_reduce()) {
    bool chooses = true;
    for (int d = 0; d < 3; ++d) chooses = chooses && (shapes[0][d] != 0 || !which.goes(d));
    if (chooses) result.push_back(shapes);
  }
  return result;
}

std::vector<OpCase> choosing(Op op, ReduceCall call, Reduced (*reduce)(const std::vector<double>&)) {
  std::vector<OpCase> cases;
  for (const ReducedDims& which : kReducedDims) {
    cases.push_back({.op = op,
                     .what = which.name,
                     .inputs = {{distinct()}},
                     .shapes = shapes_to_choose(which),
                     .run = call_of_one([=](const Tensor& x) { return call(x, which.dims, which.keepdim); }),
                     .reference = reduced(which, reduce),
                     .dtypes = Dtypes::kArithmetic,
                     .is_exact = true});
  }
  return cases;
}

std::vector<OpCase> asking(Op op, ReduceCall call, Reduced (*reduce)(const std::vector<double>&), Draw draw) {
  std::vector<OpCase> cases;
  for (const ReducedDims& which : kReducedDims) {
    cases.push_back({.op = op,
                     .what = which.name,
                     .inputs = {{draw}},
                     .shapes = shapes_to_reduce(),
                     .run = call_of_one([=](const Tensor& x) { return call(x, which.dims, which.keepdim); }),
                     .reference = reduced(which, reduce),
                     .dtypes = Dtypes::kAll,
                     .results = {as_bool},
                     .is_exact = true});
  }
  return cases;
}

// Mostly 0, so that some results are false.
Draw rare() {
  return [](std::mt19937& random, const Shapes&, int64_t) { return random() % 9 == 0 ? 1.0 : 0.0; };
}
Draw frequent() {
  return [](std::mt19937& random, const Shapes&, int64_t) { return random() % 9 == 0 ? 0.0 : 1.0; };
}

// The values along one dimension and the first index of each.
Arrays found_along(const Array& in, const ReducedDims& which, bool is_largest) {
  Array values(which.result(in.shape)), indices(values.shape);
  int64_t i = 0;
  for (const std::vector<double>& terms : terms_of(in, which)) {
    const auto found = is_largest ? first_largest(terms) : first_smallest(terms);
    values[i] = *found;
    indices[i++] = static_cast<double>(found - terms.begin());
  }
  return {values, indices};
}

using PairCall = ops::ValuesAndIndices (*)(const Tensor&, int64_t, bool);
using IndexCall = Tensor (*)(const Tensor&, int64_t, bool);

OpCase along_case(Op op, const ReducedDims& which, bool is_largest) {
  return {.op = op,
          .what = which.name,
          .inputs = {{distinct()}},
          .shapes = shapes_to_choose(which),
          .reference = [=](const Arrays& in) { return found_along(in[0], which, is_largest); },
          .dtypes = Dtypes::kArithmetic,
          .results = {same, as_index},
          .is_exact = true};
}

OpCase values_case(Op op, const ReducedDims& which, PairCall call, bool is_largest) {
  OpCase result = along_case(op, which, is_largest);
  result.run = [=](const Tensors& in) {
    const ops::ValuesAndIndices found = call(in[0], which.dims[0], which.keepdim);
    return Tensors{found.values, found.indices};
  };
  return result;
}

OpCase indices_case(Op op, const ReducedDims& which, IndexCall call, bool is_largest) {
  OpCase result = along_case(op, which, is_largest);
  result.run = call_of_one([=](const Tensor& x) { return call(x, which.dims[0], which.keepdim); });
  result.reference = [=](const Arrays& in) { return Arrays{found_along(in[0], which, is_largest)[1]}; };
  result.results = {as_index};
  return result;
}

}  // namespace

std::vector<OpCase> min_max_cases() {
  std::vector<OpCase> cases = choosing(Op::kAmax, ops::amax, largest_of);
  for (const std::vector<OpCase>& part :
       {choosing(Op::kAmin, ops::amin, smallest_of), asking(Op::kAny, ops::any, any_of, rare()),
        asking(Op::kAll, ops::all, all_of, frequent())}) {
    cases.insert(cases.end(), part.begin(), part.end());
  }
  for (const ReducedDims& which : {kReducedDims[1], kReducedDims[3], {"over the first dimension", {0}, false}}) {
    cases.push_back(values_case(Op::kMaxDim, which, ops::max_dim, true));
    cases.push_back(values_case(Op::kMinDim, which, ops::min_dim, false));
    cases.push_back(indices_case(Op::kArgmax, which, ops::argmax, true));
    cases.push_back(indices_case(Op::kArgmin, which, ops::argmin, false));
  }
  const std::vector<OpCase> plain = cases;
  for (const OpCase& op_case : plain) {
    if (op_case.op != Op::kAny && op_case.op != Op::kAll) cases.push_back(with_special_values(op_case));
  }
  return cases;
}

}  // namespace halftone
