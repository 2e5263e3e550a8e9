// Products over dimensions and running products.
#include <cmath>

#include "calls.h"
#include "ops/ops.h"
#include "terms.h"

namespace halftone {

namespace {

// Close to 1, so that a product of many terms stays in range.
const Draw kNearOne = uniform(0.9996, 1.0004);

// Each fifth element is 0: some products have none, some one and some several.
Draw with_zeros() {
  return [](std::mt19937& random, const Shapes& shapes, int64_t i) {
    return i % 5 == 3 ? 0.0 : distinct()(random, shapes, i);
  };
}

const std::vector<Shapes> kSmall = {{{0, 3, 2}}, {{2, 0, 3}}, {{2, 3, 0}}, {{1, 1, 1}}, {{2, 5, 1}}, {{3, 1, 3}}};
const std::vector<Shapes> kLarge = {{{3, 5, 7}}, {{2, 35, 3}}, {{5, 3, 2305}}, {{41, 29, 31}}};

// One rounding for each factor.
Reduced product_of_terms(const std::vector<double>& terms) {
  long double product = 1;
  for (const double term : terms) product *= term;
  const auto value = static_cast<double>(product);
  return {value, (2 * static_cast<double>(terms.size()) + 16) * std::fabs(value)};
}

std::vector<OpCase> prod_cases() {
  std::vector<OpCase> cases;
  for (const ReducedDims& which : kReducedDims) {
    OpCase op_case = {.op = Op::kProd,
                      .what = which.name,
                      .inputs = {{kNearOne}},
                      .shapes = kLarge,
                      .run = call_of_one([=](const Tensor& x) { return ops::prod(x, which.dims, which.keepdim); }),
                      .reference = reduced(which, product_of_terms),
                      .results = {float_or_i64}};
    cases.push_back(op_case);
    op_case.inputs = {{with_zeros()}};
    op_case.shapes = kSmall;
    op_case.dtypes = Dtypes::kArithmetic;
    cases.push_back(op_case);
  }
  return cases;
}

Arrays running_products(const Arrays& in, int dim) {
  Array out(in[0].shape);
  const int64_t stride = contiguous_strides(in[0].shape)[dim];
  int64_t i = 0;
  for_each_index(out.shape, [&](const Shape& index) {
    std::vector<double> terms;
    for (int64_t back = index[dim]; back >= 0; --back) terms.push_back(in[0][i - back * stride]);
    const Reduced product = product_of_terms(terms);
    out[i++] = product.value;
    out.slack.push_back(product.slack);
  });
  return {out};
}

OpCase cumprod_case(int dim, Draw draw, std::vector<Shapes> shapes, Dtypes dtypes) {
  return {.op = Op::kCumprod,
          .what = dim == 0 ? "along the first dimension" : "along the last dimension",
          .inputs = {{std::move(draw)}},
          .shapes = std::move(shapes),
          .run = call_of_one([dim](const Tensor& x) { return ops::cumprod(x, dim); }),
          .reference = [dim](const Arrays& in) { return running_products(in, dim < 0 ? in[0].shape.rank() - 1 : dim); },
          .dtypes = dtypes,
          .results = {float_or_i64}};
}

}  // namespace

std::vector<OpCase> product_cases() {
  std::vector<OpCase> cases = prod_cases();
  for (const OpCase& running :
       {cumprod_case(0, kNearOne, {{{129, 271}}, {{700, 3}}}, Dtypes::kFloats),
        cumprod_case(-1, kNearOne, {{{271, 129}}, {{3, 700}}}, Dtypes::kFloats),
        cumprod_case(0, with_zeros(), {{{0, 3}}, {{1}}, {{9, 5}}, {{7, 3, 2}}}, Dtypes::kArithmetic),
        cumprod_case(-1, with_zeros(), {{{3, 0}}, {{1}}, {{7, 9}}}, Dtypes::kArithmetic)}) {
    cases.push_back(running);
  }
  return cases;
}

}  // namespace halftone
