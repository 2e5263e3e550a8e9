// Losses over rows of classes.
#include <algorithm>
#include <cmath>

#include "ops/op_case.h"
#include "ops/ops.h"

namespace halftone {

namespace {

struct ClassCase {
  Op op;
  const char* what;
  ops::ClassLossOptions options;
  bool is_weighted = false;
  bool of_probabilities = false;
};

// Log-probabilities of one row, and the magnitude that their errors are relative to.
std::vector<double> log_softmax_of_row(const Array& x, int64_t row) {
  const int64_t classes = x.shape[1];
  std::vector<double> result;
  for (int64_t c = 0; c < classes; ++c) result.push_back(x[row * classes + c]);
  const double largest = *std::max_element(result.begin(), result.end());
  Sum sum;
  for (const double value : result) sum.add(std::exp(value - largest));
  for (double& value : result) value -= largest + std::log(sum.value());
  return result;
}

struct RowLoss {
  double value = 0;
  double weight = 0;
  double magnitude = 0;
};

// loss = (1 - smoothing) w[target] nll[target] + smoothing / c * sum of w nll
RowLoss loss_of_row(const std::vector<double>& logs, int64_t target, const Array* weight,
                    const ops::ClassLossOptions& options) {
  if (target == options.ignore_index) return {};
  const auto weight_of = [&](int64_t c) { return weight != nullptr ? (*weight)[c] : 1.0; };
  const auto classes = static_cast<double>(logs.size());
  RowLoss loss = {.weight = weight_of(target)};
  const auto add = [&](int64_t c, double share) {
    const double term = -share * weight_of(c) * logs[static_cast<size_t>(c)];
    loss.value += term;
    loss.magnitude += std::fabs(term) + share * weight_of(c) * (classes + 8) / kFunctionError;
  };
  add(target, 1 - options.label_smoothing);
  if (options.label_smoothing > 0) {
    for (size_t c = 0; c < logs.size(); ++c) add(static_cast<int64_t>(c), options.label_smoothing / classes);
  }
  return loss;
}

// loss_of_row for targets that are probabilities: (1 - smoothing) target + smoothing / c for each class.
RowLoss loss_of_probabilities(const std::vector<double>& logs, const double* targets, const Array* weight,
                              const ops::ClassLossOptions& options) {
  const auto classes = static_cast<double>(logs.size());
  RowLoss loss = {.weight = 1};
  for (size_t c = 0; c < logs.size(); ++c) {
    const double share = (1 - options.label_smoothing) * targets[c] + options.label_smoothing / classes;
    const double factor = share * (weight != nullptr ? weight->values[c] : 1.0);
    loss.value -= factor * logs[c];
    loss.magnitude += std::fabs(factor * logs[c]) + factor * (classes + 8) / kFunctionError;
  }
  return loss;
}

// Logits [n, c, ...] as rows [rows, c].
Array as_rows(const Array& x) {
  const int64_t classes = x.shape[1];
  Shape positions = {x.shape[0]};
  for (int i = 2; i < x.shape.rank(); ++i) positions.push_back(x.shape[i]);
  Array rows(Shape{numel(positions), classes});
  for_each_index(x.shape, [&](const Shape& at) {
    Shape position = {at[0]};
    for (int i = 2; i < at.rank(); ++i) position.push_back(at[i]);
    rows[place_of(positions, position) * classes + at[1]] = x[place_of(x.shape, at)];
  });
  return rows;
}

Arrays class_losses(const ClassCase& which, const Arrays& in) {
  const Array x = as_rows(in[0]);
  const Array shares = which.of_probabilities ? as_rows(in[1]) : Array(Shape{0});
  const int64_t rows = x.shape[0], classes = x.shape[1];
  Array losses(Shape{rows});
  RowLoss all;
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<double> logs;
    if (which.op == Op::kCrossEntropy) {
      logs = log_softmax_of_row(x, r);
    } else {
      for (int64_t c = 0; c < classes; ++c) logs.push_back(x[r * classes + c]);
    }
    const Array* weight = which.is_weighted ? &in[2] : nullptr;
    const RowLoss loss = which.of_probabilities
                             ? loss_of_probabilities(logs, shares.values.data() + r * classes, weight, which.options)
                             : loss_of_row(logs, static_cast<int64_t>(in[1][r]), weight, which.options);
    losses[r] = loss.value;
    losses.slack.push_back(2 * kFunctionError * loss.magnitude);
    all = {all.value + loss.value, all.weight + loss.weight, all.magnitude + loss.magnitude};
  }
  losses.shape = {in[0].shape[0]};
  for (int i = 2; i < in[0].shape.rank(); ++i) losses.shape.push_back(in[0].shape[i]);
  if (which.options.reduction == LossReduction::kNone) return {losses};
  const double divisor = which.options.reduction == LossReduction::kMean ? all.weight : 1;
  Array out(Shape{});
  out[0] = all.value / divisor;
  out.slack = {4 * kFunctionError * all.magnitude / divisor};
  return {out};
}

OpCase class_case(const ClassCase& which) {
  OpCase result = {.op = which.op,
                   .what = which.what,
                   .inputs = {{uniform(-2, 2)}, index_input(0, 1)},
                   .shapes = {{{0, 3}, {0}}, {{1, 1}, {1}}, {{7, 5}, {7}}, {{15, 2305}, {15}}, {{2305, 15}, {2305}}},
                   .slope_terms = 2};  // weights times the difference of two probabilities
  result.run = [which](const Tensors& in) {
    const auto call = which.op == Op::kCrossEntropy ? ops::cross_entropy : ops::nll_loss;
    return Tensors{call(in[0], in[1], which.is_weighted ? in[2] : Tensor(), which.options)};
  };
  result.reference = [which](const Arrays& in) { return class_losses(which, in); };
  if (which.options.reduction != LossReduction::kNone) result.results = {f32_or_wider};
  if (!which.is_weighted) return result;
  // The weights have their own dtype and are not differentiable.
  result.inputs.push_back({uniform(0.5, 2), DType::kF32});
  for (Shapes& shapes : result.shapes) shapes.push_back({shapes[0][1]});
  return result;
}

// Dimensions that follow the classes.
OpCase with_positions(OpCase result) {
  const bool is_weighted = result.inputs.size() > 2;
  result.shapes = {{{2, 3, 0}, {2, 0}}, {{2, 5, 3}, {2, 3}}, {{3, 2, 3, 5}, {3, 3, 5}}, {{5, 7, 1001}, {5, 1001}}};
  for (Shapes& shapes : result.shapes) {
    if (is_weighted) shapes.push_back({shapes[0][1]});
  }
  return result;
}

// The terms of a slope have the size of a target, or of a probability times the sum of the targets.
OpCase probability_case(ClassCase which) {
  which.op = Op::kCrossEntropy;
  which.of_probabilities = true;
  OpCase result = class_case(which);
  result.inputs[1] = {uniform(0, 1)};
  for (Shapes& shapes : result.shapes) shapes[1] = shapes[0];
  result.shapes.push_back({{2, 5, 3}, {2, 5, 3}});
  if (which.is_weighted) {
    result.shapes.back().push_back({5});
    result.inputs[2] = {uniform(0.5, 2)};  // differentiable here
  }
  result.slope_terms = 64;
  return result;
}

OpCase narrow_class_case(const ClassCase& which) {
  OpCase result = class_case(which);
  result.inputs[1] = narrow_index_input(0, 1);
  return result;
}

// The logits of a linear layer: inputs, weights, then a bias if there is one.
Array logits_of(const Arrays& in, bool has_bias) {
  const int64_t classes = in[1].shape[0], size = in[1].shape[1];
  const int64_t rows = in[0].size() / std::max<int64_t>(size, 1);
  Array logits(Shape{rows, classes});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < classes; ++c) {
      double sum = has_bias ? in[2][c] : 0;
      for (int64_t p = 0; p < size; ++p) sum += in[0][r * size + p] * in[1][c * size + p];
      logits[r * classes + c] = sum;
    }
  }
  return logits;
}

Arrays linear_losses(const ClassCase& which, const Arrays& in, bool has_bias) {
  const size_t target = has_bias ? 3 : 2;
  Array targets = in[target];
  const Shape shape = targets.shape;
  targets.shape = {targets.size()};
  Arrays rows = {logits_of(in, has_bias), targets};
  if (which.is_weighted) rows.push_back(in[target + 1]);
  Arrays out = class_losses(which, rows);
  if (which.options.reduction == LossReduction::kNone) out[0].shape = shape;
  return out;
}

// `sizes` are the shape of the input and the number of classes.
using LinearSizes = std::vector<std::pair<Shape, int64_t>>;
OpCase linear_case(const ClassCase& which, bool has_bias, const LinearSizes& sizes) {
  OpCase result = {.op = Op::kLinearCrossEntropy,
                   .what = which.what,
                   .inputs = {{uniform(-1, 1)}, {uniform(-1, 1)}},
                   .results = {f32_or_wider},
                   .slope_terms = 64};
  if (has_bias) result.inputs.push_back({uniform(-1, 1)});
  result.inputs.push_back(index_input(1, 0));
  if (which.is_weighted) result.inputs.push_back({uniform(0.5, 2), DType::kF32});
  for (const auto& [shape, classes] : sizes) {
    Shapes shapes = {shape, {classes, shape[shape.rank() - 1]}};
    if (has_bias) shapes.push_back({classes});
    shapes.push_back(Shape(shape.begin(), shape.rank() - 1));
    if (which.is_weighted) shapes.push_back({classes});
    result.shapes.push_back(shapes);
  }
  const size_t target = has_bias ? 3 : 2;
  result.run = [which, has_bias, target](const Tensors& in) {
    return Tensors{ops::linear_cross_entropy({in[0], in[1], has_bias ? in[2] : Tensor()}, in[target],
                                             which.is_weighted ? in[target + 1] : Tensor(), which.options)};
  };
  result.reference = [which, has_bias](const Arrays& in) { return linear_losses(which, in, has_bias); };
  return result;
}

}  // namespace

std::vector<OpCase> class_loss_cases() {
  std::vector<OpCase> cases;
  for (const Op op : {Op::kCrossEntropy, Op::kNllLoss}) {
    cases.push_back(class_case({op, "as mean", {}}));
    cases.push_back(class_case({op, "as weighted mean", {.ignore_index = 2}, true}));
    cases.push_back(class_case({op, "as weighted sum", {.reduction = LossReduction::kSum}, true}));
    cases.push_back(class_case({op, "of each row", {.reduction = LossReduction::kNone, .ignore_index = 0}}));
  }
  for (const Op op : {Op::kCrossEntropy, Op::kNllLoss}) {
    cases.push_back(with_positions(class_case({op, "of positions, as weighted mean", {.ignore_index = 2}, true})));
    cases.push_back(with_positions(class_case({op, "of each position", {.reduction = LossReduction::kNone}})));
    cases.push_back(narrow_class_case({op, "as mean, targets in i32", {}}));
  }
  cases.push_back(probability_case({Op::kCrossEntropy, "of probabilities, as mean", {}}));
  cases.push_back(probability_case({Op::kCrossEntropy,
                                    "of probabilities, smoothed, weighted, of each row",
                                    {.reduction = LossReduction::kNone, .label_smoothing = 0.25},
                                    true}));
  cases.push_back(probability_case(
      {Op::kCrossEntropy, "of probabilities, weighted, as sum", {.reduction = LossReduction::kSum}, true}));
  cases.push_back(class_case({Op::kCrossEntropy, "as mean of the rows that are not ignored", {.ignore_index = 1}}));
  cases.push_back(class_case({Op::kCrossEntropy, "smoothed", {.label_smoothing = 0.125}}));
  cases.push_back(class_case(
      {Op::kCrossEntropy, "smoothed, as sum", {.reduction = LossReduction::kSum, .label_smoothing = 0.125}}));
  cases.push_back(class_case({Op::kCrossEntropy,
                              "smoothed, weighted, of each row",
                              {.reduction = LossReduction::kNone, .label_smoothing = 0.25},
                              true}));
  cases.push_back(class_case(
      {Op::kCrossEntropy, "smoothed, as weighted mean", {.ignore_index = 1, .label_smoothing = 0.25}, true}));
  const LinearSizes few = {{{3}, 4}, {{1, 1}, 1}, {{7, 5}, 3}, {{2, 5, 3}, 9}};
  LinearSizes with_none = few;
  with_none.push_back({{0, 3}, 2});
  // The rows do not fit one part of the logits.
  cases.push_back(linear_case({Op::kCrossEntropy, "of a linear layer, as mean", {}}, true, {{{131, 5}, 8195}}));
  cases.push_back(linear_case({Op::kCrossEntropy, "of a linear layer, as weighted mean", {}, true}, true, few));
  cases.push_back(
      linear_case({Op::kCrossEntropy, "of a linear layer without bias, as sum", {.reduction = LossReduction::kSum}},
                  false, with_none));
  cases.push_back(linear_case({Op::kCrossEntropy,
                               "of a linear layer, smoothed, weighted, of each row",
                               {.reduction = LossReduction::kNone, .ignore_index = 0, .label_smoothing = 0.25},
                               true},
                              true, with_none));
  return cases;
}

}  // namespace halftone
