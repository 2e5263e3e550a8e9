// Norms of vectors.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calls.h"
#include "ops/ops.h"
#include "terms.h"

namespace halftone {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Odd multiples of 1/128 from 1/128 to 511/128, all different among 256 neighbours: magnitudes without ties.
Draw positive() {
  return [](std::mt19937& random, const Shapes& shapes, int64_t i) { return (distinct()(random, shapes, i) + 2) / 2; };
}

// From 1 to 1.5: each counts, though a large power tells them apart.
Draw near_one() {
  return [](std::mt19937& random, const Shapes& shapes, int64_t i) { return 1 + positive()(random, shapes, i) / 8; };
}

double norm_of(const std::vector<double>& terms, double p) {
  double largest = 0, smallest = kInfinity;
  long double sum = 0;
  for (const double term : terms) {
    const double size = std::fabs(term);
    largest = std::max(largest, size);
    smallest = std::min(smallest, size);
    sum += p == 0 ? (size != 0 ? 1 : 0) : std::isinf(p) ? 0 : std::pow(static_cast<long double>(size), p);
  }
  if (std::isinf(p)) return p > 0 ? largest : smallest;
  return static_cast<double>(p == 0 ? sum : std::pow(sum, 1 / static_cast<long double>(p)));
}

OpCase norm_case(const char* what, double p, const ReducedDims& which, Draw draw, std::vector<Shapes> shapes) {
  return {.op = Op::kVectorNorm,
          .what = what,
          .inputs = {{std::move(draw)}},
          .shapes = std::move(shapes),
          .run = call_of_one([=](const Tensor& x) { return ops::vector_norm(x, p, which.dims, which.keepdim); }),
          .reference = [=](const Arrays& in) {
            Array out(which.result(in[0].shape));
            int64_t i = 0;
            for (const std::vector<double>& terms : terms_of(in[0], which)) {
              out[i] = norm_of(terms, p);
              out.slack.push_back(64 * std::fabs(out[i++]));
            }
            return Arrays{out};
          }};
}

}  // namespace

std::vector<OpCase> vector_norm_cases() {
  const std::vector<Shapes> small = {{{1, 1, 1}}, {{3, 5, 7}}, {{2, 35, 3}}};
  std::vector<OpCase> cases;
  for (const ReducedDims& which : kReducedDims) {
    cases.push_back(norm_case("with p = 2", 2, which, distinct(), shapes_to_reduce()));
    cases.push_back(norm_case("with p = 1", 1, which, distinct(), shapes_to_reduce()));
    cases.push_back(norm_case("with p = 3", 3, which, distinct(), shapes_to_reduce()));
    cases.push_back(norm_case("with p = 0", 0, which, distinct(), small));
    cases.push_back(norm_case("with p = 1.5", 1.5, which, positive(), small));
    cases.push_back(norm_case("with p = 0.5", 0.5, which, positive(), small));
    cases.push_back(norm_case("with p = -1", -1, which, positive(), small));
    for (const double p : {20.0, -20.0}) {
      cases.push_back(norm_case(p > 0 ? "with p = 20" : "with p = -20", p, which, near_one(), small));
      cases.back().gradient_roundings = 24;  // the norm's rounding counts p - 1 times
    }
    cases.push_back(norm_case("with p = infinity", kInfinity, which, positive(), small));
    cases.push_back(norm_case("with p = -infinity", -kInfinity, which, positive(), small));
  }
  return cases;
}

}  // namespace halftone
