// Matrix products.
#include <cmath>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

const OpInput kFactor = {uniform(-1, 1)};

// The sizes of the batch dimensions.
Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.rank() - 2); }

// The position of element (row, column) of the matrix at index `batch`.
int64_t place_in_batch(const Shape& shape, const Shape& batch, int64_t row, int64_t column) {
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  return (repeated_place_of(leading(shape), batch) * rows + row) * columns + column;
}

Arrays product_of(const Arrays& in) {
  const Shape &a = in[0].shape, &b = in[1].shape;
  const int64_t rows = a[a.rank() - 2], inner = a[a.rank() - 1], columns = b[b.rank() - 1];
  const Shape batches = joined(leading(a), leading(b));
  Shape shape = batches;
  shape.push_back(rows);
  shape.push_back(columns);
  Array out(shape);
  int64_t i = 0;
  for_each_index(shape, [&](const Shape& index) {
    const Shape batch = leading(index);
    const int64_t row = index[index.rank() - 2], column = index[index.rank() - 1];
    Sum sum;
    for (int64_t k = 0; k < inner; ++k) {
      sum.add(in[0][place_in_batch(a, batch, row, k)] * in[1][place_in_batch(b, batch, k, column)]);
    }
    out[i++] = sum.value();
    out.slack.push_back(sum.slack_in_order());
  });
  return {out};
}

OpCase matmul_case() {
  return {.op = Op::kMatmul,
          .inputs = {kFactor, kFactor},
          .shapes = {{{0, 3}, {3, 2}},
                     {{3, 0}, {0, 5}},
                     {{1, 1}, {1, 1}},
                     {{7, 5}, {5, 3}},
                     {{3, 5, 7}, {3, 7, 5}},
                     {{2, 1, 3, 5}, {3, 5, 1}},
                     {{3, 2, 5}, {5, 3}},
                     {{35, 1001}, {1001, 3}},
                     {{301, 7}, {7, 129}}},
          .run = call_of_two(ops::matmul),
          .reference = product_of,
          .gradient_roundings = 0};  // also of a matrix that is repeated along the batch
}

// A vector a is a row, a vector b a column; the result has no dimension for it.
OpCase vector_case() {
  const Reshape as_matrices = [](Shapes in) {
    if (in[0].rank() == 1) in[0] = {1, in[0][0]};
    if (in[1].rank() == 1) in[1] = {in[1][0], 1};
    return in;
  };
  const auto without_ones = [](const Shapes& in, const Shape& out) {
    Shape shape(out.begin(), out.rank() - 2);
    if (in[0].rank() > 1) shape.push_back(out[out.rank() - 2]);
    if (in[1].rank() > 1) shape.push_back(out[out.rank() - 1]);
    return shape;
  };
  return with_fewer_dimensions(matmul_case(), "of vectors",
                               {{{0}, {0}},
                                {{1}, {1}},
                                {{5}, {5}},
                                {{7, 5}, {5}},
                                {{5}, {5, 3}},
                                {{2, 3, 5}, {5}},
                                {{5}, {2, 1, 5, 3}},
                                {{0, 3}, {3}},
                                {{1001}, {1001}},
                                {{1001}, {1001, 35}}},
                               as_matrices, without_ones);
}

// Y = X W^T + b
Arrays linear_of(const Arrays& in) {
  const Shape& x = in[0].shape;
  const int64_t inner = in[1].shape[1], columns = in[1].shape[0];
  Shape shape = x;
  shape[x.rank() - 1] = columns;
  Array out(shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t row = i / columns, column = i % columns;
    Sum sum;
    for (int64_t k = 0; k < inner; ++k) sum.add(in[0][row * inner + k] * in[1][column * inner + k]);
    if (in.size() > 2) sum.add(in[2][column]);
    out[i] = sum.value();
    out.slack.push_back(sum.slack_in_order());
  }
  return {out};
}

OpCase linear_case(const char* what, bool has_bias) {
  OpCase result = {.op = Op::kLinear,
                   .what = what,
                   .inputs = {kFactor, kFactor},
                   .shapes = {{{0, 3}, {2, 3}},
                              {{1, 1}, {1, 1}},
                              {{5}, {3, 5}},
                              {{3, 1, 5}, {2, 5}},
                              {{7, 5}, {3, 5}},
                              {{35, 1001}, {3, 1001}}}};
  result.run = [](const Tensors& in) { return Tensors{ops::linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor())}; };
  result.reference = linear_of;
  if (!has_bias) return result;
  result.inputs.push_back(kFactor);
  for (Shapes& shapes : result.shapes) shapes.push_back({shapes[1][0]});
  return result;
}

// A weight of one dimension is a row, its bias a scalar, and the result has no dimension for the one output.
OpCase linear_row_case(const char* what, bool has_bias) {
  const Reshape as_layer = [](Shapes in) {
    in[1] = {1, in[1][0]};
    if (in.size() > 2) in[2] = {1};
    return in;
  };
  std::vector<Shapes> shapes = {{{0, 3}, {3}}, {{5}, {5}}, {{3, 1, 5}, {5}}, {{35, 1001}, {1001}}};
  for (Shapes& each : shapes) {
    if (has_bias) each.push_back({});
  }
  return with_fewer_dimensions(linear_case("", has_bias), what, std::move(shapes), as_layer,
                               [](const Shapes&, const Shape& out) { return Shape(out.begin(), out.rank() - 1); });
}

struct ActivationCase {
  const char* what;
  GemmActivation activation;
  double (*function)(double x);
  bool is_smooth;
};
constexpr ActivationCase kActivationCases[] = {
    {"relu", GemmActivation::kRelu, [](double x) { return x > 0 ? x : 0; }, false},
    {"gelu by erf", GemmActivation::kGeluErf, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, true},
    {"gelu by tanh", GemmActivation::kGeluTanh,
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }, true},
    {"silu", GemmActivation::kSilu, [](double x) { return x / (1 + std::exp(-x)); }, true},
};

// No activation has a slope above 1.2. Its own error is relative to its argument. Finite differences would meet the
// kink of relu; a test in C compares its gradient with that of two operations.
OpCase linear_activation_case(const ActivationCase& of, bool has_bias) {
  OpCase result = linear_case(of.what, has_bias);
  result.op = Op::kLinearActivation;
  result.run = [activation = of.activation](const Tensors& in) {
    return Tensors{ops::linear_activation(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), activation)};
  };
  result.reference = [function = of.function](const Arrays& in) {
    Arrays out = linear_of(in);
    for (int64_t i = 0; i < out[0].size(); ++i) {
      double& slack = out[0].slack[static_cast<size_t>(i)];
      slack = 1.2 * slack + kFunctionError * std::fabs(out[0][i]);
      out[0][i] = function(out[0][i]);
    }
    return out;
  };
  result.has_gradient = of.is_smooth;
  return result;
}

// The factor that the layer multiplies is rounded to the dtype and has the error of one function.
OpCase activation_linear_case(const ActivationCase& of, bool has_bias) {
  OpCase result = linear_case(of.what, has_bias);
  result.op = Op::kActivationLinear;
  result.run = [activation = of.activation](const Tensors& in) {
    return Tensors{ops::activation_linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), activation)};
  };
  result.reference = [function = of.function](const Arrays& in) {
    Arrays made = in, sizes = {in[0], in[1]};
    for (double& x : made[0].values) x = function(x);
    for (size_t i = 0; i < made[0].values.size(); ++i) sizes[0].values[i] = std::fabs(made[0].values[i]);
    for (double& weight : sizes[1].values) weight = std::fabs(weight);
    Arrays out = linear_of(made);
    out[0].inner_slack = linear_of(sizes)[0].values;
    for (int64_t i = 0; i < out[0].size(); ++i) {
      const auto at = static_cast<size_t>(i);
      out[0].slack[at] += kFunctionError * out[0].inner_slack[at];
    }
    return out;
  };
  result.has_gradient = of.is_smooth;
  result.slope_terms = 1;  // the two terms of a derivative cancel at its zero
  return result;
}

// Labels are letters; the sum runs over all labels that the result leaves out. A size of 1 is repeated where the other
// operand has another size.
struct Equation {
  const char* text;
  std::string a, b, out;
};

Array einsum_of(const Equation& equation, const Array& a, const Array& b) {
  std::string labels = equation.out;
  for (const char label : equation.a + equation.b) {
    if (labels.find(label) == std::string::npos) labels.push_back(label);
  }
  const auto size_of_label = [&](char label) {
    const size_t in_a = equation.a.find(label), in_b = equation.b.find(label);
    const int64_t of_a = in_a != std::string::npos ? a.shape[static_cast<int>(in_a)] : 1;
    return of_a == 1 && in_b != std::string::npos ? b.shape[static_cast<int>(in_b)] : of_a;
  };
  Shape all, shape;
  for (const char label : labels) all.push_back(size_of_label(label));
  for (const char label : equation.out) shape.push_back(size_of_label(label));
  Array out(shape);
  std::vector<Sum> sums(out.values.size());
  const auto indices_of = [&](const std::string& names, const Shape& index) {
    Shape result;
    for (const char label : names) result.push_back(index[static_cast<int>(labels.find(label))]);
    return result;
  };
  for_each_index(all, [&](const Shape& index) {
    const double term = a[repeated_place_of(a.shape, indices_of(equation.a, index))] *
                        b[repeated_place_of(b.shape, indices_of(equation.b, index))];
    sums[static_cast<size_t>(place_of(shape, indices_of(equation.out, index)))].add(term);
  });
  for (int64_t i = 0; i < out.size(); ++i) {
    out[i] = sums[static_cast<size_t>(i)].value();
    out.slack.push_back(sums[static_cast<size_t>(i)].slack_in_order());
  }
  return out;
}

OpCase einsum_case(const Equation& equation, std::vector<Shapes> shapes) {
  return {.op = Op::kEinsum,
          .what = equation.text,
          .inputs = {kFactor, kFactor},
          .shapes = std::move(shapes),
          .run = call_of_two([=](const Tensor& a, const Tensor& b) { return ops::einsum(equation.text, a, b); }),
          .reference = [=](const Arrays& in) { return Arrays{einsum_of(equation, in[0], in[1])}; }};
}

// Labels of one operand alone are summed in its dtype first. Small whole numbers make these sums exact.
OpCase einsum_of_whole_numbers_case(const Equation& equation, std::vector<Shapes> shapes) {
  OpCase result = einsum_case(equation, std::move(shapes));
  const Draw whole = [](std::mt19937& random, const Shapes&, int64_t) { return static_cast<double>(random() % 5) - 2; };
  result.inputs = {{whole}, {whole}};
  return result;
}

}  // namespace

std::vector<OpCase> matmul_cases() {
  return {
      matmul_case(),
      linear_case("", false),
      linear_case("with bias", true),
      vector_case(),
      linear_row_case("by a row", false),
      linear_row_case("by a row, with bias", true),
      linear_activation_case(kActivationCases[0], true),
      linear_activation_case(kActivationCases[1], true),
      linear_activation_case(kActivationCases[2], true),
      linear_activation_case(kActivationCases[3], false),
      activation_linear_case(kActivationCases[0], true),
      activation_linear_case(kActivationCases[1], true),
      activation_linear_case(kActivationCases[2], true),
      activation_linear_case(kActivationCases[3], false),
      einsum_case({"ij,jk->ik", "ij", "jk", "ik"},
                  {{{0, 3}, {3, 2}}, {{1, 1}, {1, 1}}, {{7, 5}, {5, 3}}, {{301, 129}, {129, 3}}}),
      einsum_case({"bqhd,bkhd->bhqk", "bqhd", "bkhd", "bhqk"},
                  {{{2, 0, 2, 3}, {2, 3, 2, 3}}, {{1, 1, 1, 1}, {1, 1, 1, 1}}, {{1, 3, 3, 5}, {1, 2, 3, 5}}}),
      einsum_case({"...ij,...jk->...ik", "xij", "xjk", "xik"}, {{{2, 3, 5}, {2, 5, 7}}, {{1, 1, 1}, {1, 1, 1}}}),
      einsum_case({"i,j->ji", "i", "j", "ji"}, {{{0}, {3}}, {{1}, {1}}, {{5}, {3}}}),
      einsum_case({"ij,jk->ki", "ij", "jk", "ki"}, {{{2, 3}, {3, 4}}}),
      einsum_case({"ii,ij->j", "ii", "ij", "j"}, {{{3, 3}, {3, 4}}, {{1, 1}, {1, 1}}, {{129, 129}, {129, 65}}}),
      einsum_case({"iji,jkk->kij", "iji", "jkk", "kij"}, {{{3, 2, 3}, {2, 5, 5}}}),
      einsum_of_whole_numbers_case({"ijx,jky->i", "ijx", "jky", "i"}, {{{2, 3, 2}, {3, 2, 2}}}),
      einsum_of_whole_numbers_case({"...ij,...jk->k...", "yij", "xyjk", "kxy"}, {{{1, 2, 3}, {2, 2, 3, 4}}}),
  };
}

}  // namespace halftone
