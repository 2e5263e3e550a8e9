// Operations that write into a copy of a tensor by index, and reads by a list of indices.
#include <algorithm>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

const OpInput kInput = {uniform(-2, 2)};

// The elements of the source for each place of the input, in the order of the index: one index for each element of the
// source, or a vector of indices for slices along `dim`.
std::vector<std::vector<double>> terms_of_places(const Arrays& in, int dim) {
  const Array &input = in[0], &index = in[1], &source = in[2];
  const bool is_vector = index.shape.rank() != input.shape.rank();
  std::vector<std::vector<double>> terms(input.values.size());
  Shape entries = is_vector ? source.shape : index.shape;
  int64_t i = 0;
  for_each_index(entries, [&](Shape at) {
    const double term = source[place_of(source.shape, at)];
    at[dim] = static_cast<int64_t>(is_vector ? index[at[dim]] : index[i]);
    ++i;
    terms[static_cast<size_t>(place_of(input.shape, at))].push_back(term);
  });
  return terms;
}

struct Joined {
  double value;
  double slack = 0;
};
// REQUIRES: one term at least.
using Join = std::function<Joined(const std::vector<double>& terms)>;

Joined last_of(const std::vector<double>& terms) { return {terms.back()}; }
Joined sum_of(const std::vector<double>& terms) {
  Sum sum;
  for (const double term : terms) sum.add(term);
  return {sum.value(), sum.slack_in_order()};
}
Joined mean_of(const std::vector<double>& terms) {
  const Joined sum = sum_of(terms);
  const auto count = static_cast<double>(terms.size());
  return {sum.value / count, sum.slack / count};
}
Joined product_of(const std::vector<double>& terms) {
  double product = 1;
  for (const double term : terms) product *= term;
  return {product, (2 * static_cast<double>(terms.size()) + 16) * std::fabs(product)};
}
Joined largest_of(const std::vector<double>& terms) { return {*std::max_element(terms.begin(), terms.end())}; }
Joined smallest_of(const std::vector<double>& terms) { return {*std::min_element(terms.begin(), terms.end())}; }

// `includes` the input's own element among the terms, as the first.
Arrays joined_at(const Arrays& in, int dim, bool includes, const Join& join) {
  std::vector<std::vector<double>> terms = terms_of_places(in, dim);
  Array out(in[0].shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    std::vector<double>& here = terms[static_cast<size_t>(i)];
    if (includes || here.empty()) here.insert(here.begin(), in[0][i]);
    const Joined result = join(here);
    out[i] = result.value;
    out.slack.push_back(result.slack);
  }
  return {out};
}

const std::vector<Shapes> kElements = {{{0, 3}, {0, 2}, {0, 2}},
                                       {{1, 1}, {1, 1}, {1, 1}},
                                       {{7, 5}, {7, 9}, {7, 9}},
                                       {{5, 9}, {3, 4}, {4, 4}},
                                       {{2, 4, 3}, {2, 5, 3}, {2, 5, 3}}};
const std::vector<Shapes> kSlices = {{{3, 0, 2}, {0}, {3, 0, 2}}, {{1, 1, 1}, {1}, {1, 1, 1}},
                                     {{3, 5, 7}, {9}, {3, 9, 7}}, {{2, 3, 1}, {0}, {2, 0, 1}},
                                     {{1, 5, 3}, {2}, {1, 2, 3}}, {{15, 2305, 1}, {1001}, {15, 1001, 1}}};

// Along the second dimension.
OpCase write_case(Op op, std::vector<Shapes> shapes, bool includes, const Join& join) {
  return {.op = op,
          .inputs = {kInput, index_input(0, 1), kInput},
          .shapes = std::move(shapes),
          .reference = [=](const Arrays& in) { return joined_at(in, 1, includes, join); },
          .dtypes = Dtypes::kSigned};
}

std::vector<Shapes> with_large(std::vector<Shapes> shapes) {
  shapes.push_back({{15, 2305}, {15, 2305}, {15, 2305}});
  return shapes;
}

std::vector<OpCase> slice_cases() {
  OpCase add = write_case(Op::kIndexAdd, kSlices, true, sum_of);
  add.run = [](const Tensors& in) { return Tensors{ops::index_add(in[0], 1, in[1], in[2])}; };
  OpCase narrow = add;
  narrow.what = "by i32";
  narrow.inputs[1] = narrow_index_input(0, 1);
  OpCase copy = write_case(Op::kIndexCopy, kSlices, false, last_of);
  copy.run = [](const Tensors& in) { return Tensors{ops::index_copy(in[0], 1, in[1], in[2])}; };
  copy.dtypes = Dtypes::kNumbers;
  copy.is_exact = true;
  return {add, narrow, copy};
}

std::vector<OpCase> element_cases() {
  OpCase scatter = write_case(Op::kScatter, with_large(kElements), false, last_of);
  scatter.run = [](const Tensors& in) { return Tensors{ops::scatter(in[0], 1, in[1], in[2])}; };
  scatter.dtypes = Dtypes::kNumbers;
  scatter.is_exact = true;
  OpCase scalar = scatter;
  scalar.op = Op::kScatterScalar;
  scalar.inputs.pop_back();
  for (Shapes& shapes : scalar.shapes) shapes.pop_back();
  scalar.run = call_of_two([](const Tensor& x, const Tensor& index) { return ops::scatter_scalar(x, 1, index, 1); });
  scalar.reference = [](Arrays in) {
    Array ones(in[1].shape);
    std::fill(ones.values.begin(), ones.values.end(), 1.0);
    in.push_back(ones);
    return joined_at(in, 1, false, last_of);
  };
  return {scatter, scalar};
}

struct Reduction {
  const char* name;
  const char* without_self;
  ops::ScatterReduction reduction;
  Join join;
};

// Every fifth element is 0, so that some products have no factor of 0, some one and some several.
Draw with_zeros(int offset) {
  return [offset](std::mt19937& random, const Shapes& shapes, int64_t i) {
    return i % 5 == 3 ? 0.0 : distinct(offset)(random, shapes, i);
  };
}

OpCase reduce_case(const Reduction& reduction, bool includes) {
  OpCase result = {.op = Op::kScatterReduce,
                   .what = includes ? reduction.name : reduction.without_self,
                   .inputs = {{distinct()}, index_input(0, 1), {distinct(128)}},
                   .shapes = kElements,
                   .run =
                       [=](const Tensors& in) {
                         return Tensors{ops::scatter_reduce(in[0], 1, in[1], in[2], reduction.reduction, includes)};
                       },
                   .reference = [=](const Arrays& in) { return joined_at(in, 1, includes, reduction.join); }};
  const bool multiplies = reduction.reduction == ops::ScatterReduction::kProd;  // integers would wrap
  if (!multiplies && reduction.reduction != ops::ScatterReduction::kMean) result.dtypes = Dtypes::kSigned;
  if (multiplies) {
    result.inputs = {{with_zeros(0)}, index_input(0, 1), {with_zeros(128)}};
  }
  if (!includes) result.shapes = {kElements[2], kElements[3]};
  if (includes && reduction.reduction == ops::ScatterReduction::kSum) result.shapes = with_large(kElements);
  return result;
}

std::vector<OpCase> scatter_reduce_cases() {
  const Reduction reductions[] = {
      {"the sum", "the sum without self", ops::ScatterReduction::kSum, sum_of},
      {"the product", "the product without self", ops::ScatterReduction::kProd, product_of},
      {"the mean", "the mean without self", ops::ScatterReduction::kMean, mean_of},
      {"the largest", "the largest without self", ops::ScatterReduction::kAmax, largest_of},
      {"the smallest", "the smallest without self", ops::ScatterReduction::kAmin, smallest_of},
  };
  std::vector<OpCase> cases;
  for (const Reduction& reduction : reductions) {
    for (const bool includes : {true, false}) cases.push_back(reduce_case(reduction, includes));
  }
  return cases;
}

// The index of each element of the result in the input's rows: two indices, for the first two of three dimensions.
Array rows_at(const Arrays& in) {
  const Shape& shape = in[0].shape;
  Array rows(joined(in[1].shape, in[2].shape));
  int64_t i = 0;
  for_each_index(rows.shape, [&](const Shape& at) {
    const double first = in[1][repeated_place_of(in[1].shape, at)], second = in[2][repeated_place_of(in[2].shape, at)];
    rows[i++] = first * static_cast<double>(shape[1]) + second;
  });
  return rows;
}

const std::vector<Shapes> kPairs = {{{3, 2, 0}, {2}, {2}},         {{3, 2, 1}, {0}, {0}},   {{1, 1, 1}, {1}, {1}},
                                    {{3, 5, 7}, {2, 1}, {3}},      {{5, 3, 1}, {}, {2, 2}}, {{15, 5, 461}, {3}, {2, 3}},
                                    {{5, 3, 3}, {2, 3, 2}, {1, 2}}};

OpCase index_case() {
  return {.op = Op::kIndex,
          .what = "by i64 and i32",
          .inputs = {kInput, index_input(0, 0), narrow_index_input(0, 1)},
          .shapes = kPairs,
          .run =
              [](const Tensors& in) {
                return Tensors{ops::index(in[0], {in[1], in[2]})};
              },
          .reference =
              [](const Arrays& in) {
                const Array rows = rows_at(in);
                Shape shape = rows.shape;
                const int64_t columns = in[0].shape[2];
                shape.push_back(columns);
                Array out(shape);
                for (int64_t i = 0; i < out.size(); ++i) {
                  out[i] = in[0][static_cast<int64_t>(rows[i / columns]) * columns + i % columns];
                }
                return Arrays{out};
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

// The values are one row for all indices.
OpCase put_case(bool accumulates) {
  std::vector<Shapes> shapes = kPairs;
  for (Shapes& each : shapes) each.push_back({each[0][2]});
  shapes.push_back({{3, 5, 7}, {2, 1}, {3}, {2, 3, 7}});
  return {.op = Op::kIndexPut,
          .what = accumulates ? "added" : "written",
          .inputs = {kInput, index_input(0, 0), narrow_index_input(0, 1), kInput},
          .shapes = shapes,
          .run =
              [=](const Tensors& in) {
                return Tensors{ops::index_put(in[0], {in[1], in[2]}, in[3], accumulates)};
              },
          .reference =
              [=](const Arrays& in) {
                const Shape& shape = in[0].shape;
                const Array rows = rows_at(in);
                Array input({shape[0] * shape[1], shape[2]}), index({rows.size()}), source({rows.size(), shape[2]});
                input.values = in[0].values;
                index.values = rows.values;
                Shape whole = rows.shape;
                whole.push_back(shape[2]);
                int64_t i = 0;
                for_each_index(whole,
                               [&](const Shape& at) { source[i++] = in[3][repeated_place_of(in[3].shape, at)]; });
                Arrays out = joined_at({input, index, source}, 0, accumulates, accumulates ? sum_of : last_of);
                out[0].shape = shape;
                return out;
              },
          .dtypes = accumulates ? Dtypes::kSigned : Dtypes::kNumbers,
          .is_exact = !accumulates};
}

OpCase masked_select_case() {
  return {.op = Op::kMaskedSelect,
          .inputs = {kInput, mask_input()},
          .shapes = shapes_of_two(),
          .run = call_of_two(ops::masked_select),
          .reference =
              [](const Arrays& in) {
                std::vector<double> kept;
                for_each_index(joined(in[0].shape, in[1].shape), [&](const Shape& at) {
                  if (in[1][repeated_place_of(in[1].shape, at)] == 0) return;
                  kept.push_back(in[0][repeated_place_of(in[0].shape, at)]);
                });
                Array out({static_cast<int64_t>(kept.size())});
                out.values = kept;
                return Arrays{out};
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

}  // namespace

std::vector<OpCase> scatter_cases() {
  std::vector<OpCase> cases = {index_case(), put_case(true), put_case(false), masked_select_case()};
  for (const auto part : {slice_cases, element_cases, scatter_reduce_cases}) {
    for (OpCase& op_case : part()) cases.push_back(op_case);
  }
  return cases;
}

}  // namespace halftone
