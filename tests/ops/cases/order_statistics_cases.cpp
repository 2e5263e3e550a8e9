// Elements at a rank of the order, and running maxima and minima.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

// A value chosen from a line, its error bound, and its index.
struct Choice {
  double value;
  double slack = 0;
  int64_t index = 0;
};
using Line = std::vector<double>;
using Choose = std::function<Choice(const Line&)>;

// The indices of a line in ascending order; NaN counts as the largest.
std::vector<int64_t> ascending(const Line& line) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const double a = line[static_cast<size_t>(i)], b = line[static_cast<size_t>(j)];
    return std::isnan(b) ? !std::isnan(a) : a < b;
  });
  return order;
}

Choice at(const Line& line, int64_t index) { return {line[static_cast<size_t>(index)], 0, index}; }
Choice at_rank(const Line& line, int64_t rank) { return at(line, ascending(line)[static_cast<size_t>(rank)]); }

// The first NaN; -1 for none.
int64_t nan_in(const Line& line) {
  const auto found = std::find_if(line.begin(), line.end(), [](double x) { return std::isnan(x); });
  return found == line.end() ? -1 : found - line.begin();
}

Choice median_of(const Line& line) {
  const int64_t nan = nan_in(line);
  return nan < 0 ? at_rank(line, (static_cast<int64_t>(line.size()) - 1) / 2) : at(line, nan);
}

Choice quantile_of(const Line& line, double q, ops::Interpolation interpolation) {
  if (nan_in(line) >= 0) return at(line, nan_in(line));
  const double rank = q * static_cast<double>(line.size() - 1), floor = std::floor(rank), rest = rank - floor;
  const double low = at_rank(line, static_cast<int64_t>(floor)).value;
  const double high = at_rank(line, static_cast<int64_t>(std::ceil(rank))).value;
  if (rest == 0 || interpolation == ops::Interpolation::kLower) return {low};
  if (interpolation == ops::Interpolation::kHigher) return {high};
  if (interpolation == ops::Interpolation::kNearest) return {rest < 0.5 ? low : high};
  const double weight = interpolation == ops::Interpolation::kMidpoint ? 0.5 : rest;
  const double value = weight < 0.5 ? low + weight * (high - low) : high - (1 - weight) * (high - low);
  return {value, std::isfinite(value) ? kFunctionError * (std::fabs(low) + std::fabs(high)) : 0};
}

// One choice for each line along `dim`.
Arrays choices(const Array& in, int dim, bool keepdim, const Choose& choose) {
  Shape kept = in.shape, result;
  kept[dim] = 1;
  for (int i = 0; i < kept.rank(); ++i) {
    if (i != dim || keepdim) result.push_back(kept[i]);
  }
  Array values(result), indices(result);
  int64_t i = 0;
  for_each_index(kept, [&](Shape place) {
    Line line;
    for (place[dim] = 0; place[dim] < in.shape[dim]; ++place[dim]) line.push_back(in[place_of(in.shape, place)]);
    const Choice choice = choose(line);
    values.slack.push_back(choice.slack);
    indices[i] = static_cast<double>(choice.index);
    values[i++] = choice.value;
  });
  return {values, indices};
}

Tensors both(const ops::ValuesAndIndices& result) { return {result.values, result.indices}; }

OpCase choosing_case(Op op, const char* what, std::vector<Shapes> shapes) {
  return {.op = op,
          .what = what,
          .inputs = {{distinct()}},
          .shapes = std::move(shapes),
          .dtypes = Dtypes::kArithmetic,
          .results = {same, as_index},
          .is_exact = true};
}

// Lines along which no two elements of `distinct` are equal.
const std::vector<Shapes> kRows = {{{0, 3}}, {{7, 5}}, {{3, 5, 7}}, {{2305, 15}}};
const std::vector<Shapes> kColumns = {{{3, 0}}, {{1, 1}}, {{7, 5}}, {{3, 5, 7}}, {{15, 2305}}};

// Equal elements, infinities and NaN.
OpCase tied(OpCase result) {
  result.what = "of equal elements";
  result.inputs = {{coarse()}};
  result.dtypes = Dtypes::kFloats;
  result.shapes = {{{7, 5}}, {{15, 2305}}};
  result.has_gradient = false;
  return result;
}

std::vector<OpCase> kthvalue_cases() {
  OpCase third = choosing_case(Op::kKthvalue, "the third along the second dimension", kRows);
  third.run = [](const Tensors& in) { return both(ops::kthvalue(in[0], 3, 1, true)); };
  third.reference = [](const Arrays& in) {
    return choices(in[0], 1, true, [](const Line& line) { return at_rank(line, 2); });
  };
  OpCase first = choosing_case(Op::kKthvalue, "the first along the first dimension", {{{1, 1}}, {{5, 3}}});
  first.run = [](const Tensors& in) { return both(ops::kthvalue(in[0], 1, 0, false)); };
  first.reference = [](const Arrays& in) {
    return choices(in[0], 0, false, [](const Line& line) { return at_rank(line, 0); });
  };
  return {third, first, tied(third)};
}

std::vector<OpCase> median_cases() {
  OpCase columns = choosing_case(Op::kMedianDim, "along the first dimension", kColumns);
  columns.run = [](const Tensors& in) { return both(ops::median_dim(in[0], 0, false)); };
  columns.reference = [](const Arrays& in) { return choices(in[0], 0, false, median_of); };
  OpCase rows = choosing_case(Op::kMedianDim, "along the second dimension", {{{0, 3}}, {{5, 4}}, {{2, 6, 3}}});
  rows.run = [](const Tensors& in) { return both(ops::median_dim(in[0], 1, true)); };
  rows.reference = [](const Arrays& in) { return choices(in[0], 1, true, median_of); };
  OpCase all = choosing_case(Op::kMedian, "", {{{1}}, {{}}, {{7, 5}}, {{2, 3, 4}}});
  all.run = call_of_one(ops::median);
  all.results = {same};
  all.reference = [](const Arrays& in) {
    Array out(Shape{});
    out[0] = in[0].size() == 0 ? std::nan("") : median_of(in[0].values).value;
    return Arrays{out};
  };
  OpCase with_nothing = tied(all);
  with_nothing.shapes.push_back({{0, 3}});
  return {columns, rows, tied(columns), all, with_nothing};
}

OpCase quantile_case(const char* what, double q, ops::Interpolation interpolation) {
  return {.op = Op::kQuantile,
          .what = what,
          .inputs = {{distinct()}},
          .shapes = kColumns,
          .run = [=](const Tensors& in) { return Tensors{ops::quantile(in[0], q, 0, false, interpolation)}; },
          .reference =
              [=](const Arrays& in) {
                const Choose choose = [=](const Line& line) { return quantile_of(line, q, interpolation); };
                return Arrays{choices(in[0], 0, false, choose)[0]};
              }};
}

std::vector<OpCase> quantile_cases() {
  std::vector<OpCase> cases = {quantile_case("linear", 0.3, ops::Interpolation::kLinear),
                               quantile_case("linear, near the upper element", 0.8, ops::Interpolation::kLinear),
                               quantile_case("lower", 0.3, ops::Interpolation::kLower),
                               quantile_case("higher", 0.3, ops::Interpolation::kHigher),
                               quantile_case("nearest", 0.3, ops::Interpolation::kNearest),
                               quantile_case("midpoint", 0.3, ops::Interpolation::kMidpoint)};
  cases.push_back(tied(cases[0]));
  cases.back().results = {same};
  return cases;
}

// True if `next` becomes the largest or smallest so far.
bool takes_over(double next, double best, bool is_max) {
  if (std::isnan(next) || std::isnan(best)) return std::isnan(next);
  return is_max ? next >= best : next <= best;
}

OpCase running_case(Op op, int dim) {
  const bool is_max = op == Op::kCummax;
  OpCase result = choosing_case(op, dim == 0 ? "along the first dimension" : "along the second dimension",
                                dim == 0 ? kColumns : kRows);
  result.run = [=](const Tensors& in) { return both(is_max ? ops::cummax(in[0], dim) : ops::cummin(in[0], dim)); };
  result.reference = [=](const Arrays& in) {
    Array values(in[0].shape), indices(in[0].shape);
    int64_t i = 0;
    for_each_index(in[0].shape, [&](Shape place) {
      const int64_t last = place[dim];
      place[dim] = 0;
      int64_t best = 0;
      double value = in[0][place_of(in[0].shape, place)];
      for (int64_t k = 1; k <= last; ++k) {
        place[dim] = k;
        const double next = in[0][place_of(in[0].shape, place)];
        if (!takes_over(next, value, is_max)) continue;
        best = k;
        value = next;
      }
      indices[i] = static_cast<double>(best);
      values[i++] = value;
    });
    return Arrays{values, indices};
  };
  return result;
}

}  // namespace

std::vector<OpCase> order_statistics_cases() {
  std::vector<OpCase> cases;
  for (const auto part : {kthvalue_cases, median_cases, quantile_cases}) {
    for (OpCase& op_case : part()) cases.push_back(op_case);
  }
  for (const Op op : {Op::kCummax, Op::kCummin}) {
    for (const int dim : {0, 1}) {
      cases.push_back(running_case(op, dim));
      cases.push_back(tied(running_case(op, dim)));
    }
  }
  return cases;
}

}  // namespace halftone
