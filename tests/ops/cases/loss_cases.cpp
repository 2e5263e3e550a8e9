// Losses that compare two tensors element by element.
#include <cmath>
#include <limits>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

// The loss of one element and the magnitude that its error is relative to.
struct Loss {
  double value;
  double magnitude;
};

// Reduces the losses of all elements.
Arrays reduced_losses(const Array& losses, LossReduction reduction) {
  if (reduction == LossReduction::kNone) return {losses};
  Sum sum;
  double slack = 0;
  for (int64_t i = 0; i < losses.size(); ++i) {
    sum.add(losses[i]);
    slack += losses.slack[static_cast<size_t>(i)];
  }
  double count = 1;
  if (reduction == LossReduction::kMean) count = static_cast<double>(losses.size());
  if (reduction == LossReduction::kBatchMean) count = static_cast<double>(losses.shape[0]);
  Array out(Shape{});
  out[0] = sum.value() / count;
  out.slack = {(slack + sum.slack_pairwise()) / count};
  return {out};
}

template <class Function>
std::function<Arrays(const Arrays&)> losses_of(Function function, LossReduction reduction) {
  return [=](const Arrays& in) {
    Array losses(in[0].shape);
    for (int64_t i = 0; i < losses.size(); ++i) {
      const Loss loss = function(in[0][i], in[1][i]);
      losses[i] = loss.value;
      losses.slack.push_back(kFunctionError * loss.magnitude);
    }
    return reduced_losses(losses, reduction);
  };
}

const char* name_of(LossReduction reduction) {
  switch (reduction) {
    case LossReduction::kMean:
      return "as mean";
    case LossReduction::kSum:
      return "as sum";
    case LossReduction::kNone:
      return "of each element";
    case LossReduction::kBatchMean:
      return "as mean of the batch";
  }
  return "";
}

using LossCall = std::function<Tensor(const Tensor&, const Tensor&, LossReduction)>;

template <class Function>
OpCase loss_case(Op op, LossReduction reduction, const LossCall& call, Function function) {
  return {.op = op,
          .what = name_of(reduction),
          .inputs = {{distinct()}, {distinct(53)}},
          .shapes = {{{0, 3}, {0, 3}}, {{1}, {1}}, {{7, 5}, {7, 5}}, {{3, 5, 7}, {3, 5, 7}}, {{15, 2305}, {15, 2305}}},
          .run = call_of_two([=](const Tensor& x, const Tensor& t) { return call(x, t, reduction); }),
          .reference = losses_of(function, reduction),
          .results = {reduction == LossReduction::kNone ? same : f32_or_wider}};
}

Loss squared(double x, double t) { return {(x - t) * (x - t), (x - t) * (x - t)}; }
Loss absolute(double x, double t) { return {std::fabs(x - t), std::fabs(x - t)}; }
constexpr double kBeta = 0.75;
Loss smooth_absolute(double x, double t) {
  const double d = std::fabs(x - t);
  return d < kBeta ? Loss{d * d / (2 * kBeta), d * d} : Loss{d - kBeta / 2, d + kBeta};
}
Loss huber(double x, double t) {
  const Loss loss = smooth_absolute(x, t);
  return {kBeta * loss.value, loss.magnitude};
}
Loss binary_entropy(double x, double t) {
  const double positive = -t * std::log(x), negative = -(1 - t) * std::log1p(-x);
  return {positive + negative, std::fabs(positive) + std::fabs(negative)};
}
Loss divergence(double x, double t) { return {t * (std::log(t) - x), t * (std::fabs(std::log(t)) + std::fabs(x) + 1)}; }
Loss divergence_of_logs(double x, double t) {
  return {std::exp(t) * (t - x), std::exp(t) * (std::fabs(t) + std::fabs(x))};
}

// log(1 + e^x)
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
Loss logistic(double x, double t, double weight) {
  const double positive = weight * t * softplus(-x), negative = (1 - t) * softplus(x);
  return {positive + negative, std::fabs(positive) + std::fabs(negative) + std::fabs(x)};
}

std::vector<OpCase> cases_of_reduction(LossReduction reduction) {
  std::vector<OpCase> cases = {
      loss_case(Op::kMseLoss, reduction, ops::mse_loss, squared),
      loss_case(Op::kL1Loss, reduction, ops::l1_loss, absolute),
      loss_case(
          Op::kSmoothL1Loss, reduction,
          [](const Tensor& x, const Tensor& t, LossReduction how) { return ops::smooth_l1_loss(x, t, kBeta, how); },
          smooth_absolute),
      loss_case(
          Op::kHuberLoss, reduction,
          [](const Tensor& x, const Tensor& t, LossReduction how) { return ops::huber_loss(x, t, kBeta, how); }, huber),
      loss_case(
          Op::kBceLoss, reduction,
          [](const Tensor& x, const Tensor& t, LossReduction how) { return ops::bce_loss(x, t, {}, how); },
          binary_entropy),
      loss_case(
          Op::kKlDiv, reduction,
          [](const Tensor& x, const Tensor& t, LossReduction how) { return ops::kl_div(x, t, true, how); },
          divergence_of_logs),
      loss_case(
          Op::kBceWithLogits, reduction,
          [](const Tensor& x, const Tensor& t, LossReduction how) { return ops::bce_with_logits(x, t, {}, how); },
          [](double x, double t) { return logistic(x, t, 1); }),
  };
  cases.back().inputs = {{uniform(-2, 2)}, {uniform(0, 1)}};
  cases.back().slope_terms = 4;
  cases[4].inputs = {{uniform(0.0625, 0.9375)}, {uniform(0, 1)}};
  cases[4].slope_terms = 32;  // (x - t) / (x (1 - x))
  cases[5].slope_terms = 32;  // e^t (t - x + 1)
  return cases;
}

OpCase probabilities_case() {
  OpCase result = loss_case(
      Op::kKlDiv, LossReduction::kBatchMean,
      [](const Tensor& x, const Tensor& t, LossReduction how) { return ops::kl_div(x, t, false, how); }, divergence);
  result.inputs = {{uniform(-2, 2)}, {uniform(0.25, 1)}};
  result.slope_terms = 4;
  return result;
}

// The weights, one per column, have their own dtype and are not differentiable.
OpCase weighted_case() {
  OpCase result = {.op = Op::kBceWithLogits,
                   .what = "with a weight of positives",
                   .inputs = {{uniform(-2, 2)}, {uniform(0, 1)}, {uniform(0.5, 2), DType::kF32}},
                   .shapes = {{{0, 3}, {0, 3}, {3}}, {{1}, {1}, {1}}, {{7, 5}, {7, 5}, {5}}},
                   .slope_terms = 8};
  result.run = [](const Tensors& in) {
    return Tensors{ops::bce_with_logits(in[0], in[1], in[2], LossReduction::kNone)};
  };
  result.reference = [](const Arrays& in) {
    Array out(in[0].shape);
    int64_t i = 0;
    for_each_index(out.shape, [&](const Shape& index) {
      const Loss loss = logistic(in[0][i], in[1][i], in[2][repeated_place_of(in[2].shape, index)]);
      out[i++] = loss.value;
      out.slack.push_back(kFunctionError * loss.magnitude);
    });
    return Arrays{out};
  };
  return result;
}

// The weights, one per column, get a gradient.
OpCase weighted_probabilities_case(LossReduction reduction) {
  OpCase result = {.op = Op::kBceLoss,
                   .what = "weighted",
                   .inputs = {{uniform(0.0625, 0.9375)}, {uniform(0, 1)}, {uniform(0.5, 2)}},
                   .shapes = {{{1}, {1}, {1}}, {{7, 5}, {7, 5}, {5}}},
                   .results = {reduction == LossReduction::kNone ? same : f32_or_wider},
                   .slope_terms = 32};
  result.run = [=](const Tensors& in) { return Tensors{ops::bce_loss(in[0], in[1], in[2], reduction)}; };
  result.reference = [=](const Arrays& in) {
    Array losses(in[0].shape);
    int64_t i = 0;
    for_each_index(losses.shape, [&](const Shape& index) {
      const double weight = in[2][repeated_place_of(in[2].shape, index)];
      const Loss loss = binary_entropy(in[0][i], in[1][i]);
      losses[i++] = weight * loss.value;
      losses.slack.push_back(2 * kFunctionError * weight * loss.magnitude);
    });
    return reduced_losses(losses, reduction);
  };
  // The mean of nothing is NaN, which has no slope by the weights.
  if (reduction == LossReduction::kNone) result.shapes.push_back({{0, 3}, {0, 3}, {3}});
  return result;
}

// The variances are one for each element, or one for each row.
OpCase gaussian_case(const char* what, const ops::GaussianNllOptions& options, std::vector<Shapes> shapes) {
  OpCase result = {.op = Op::kGaussianNllLoss,
                   .what = what,
                   .inputs = {{distinct()}, {distinct(53)}, {uniform(0.25, 2)}},
                   .shapes = std::move(shapes),
                   .results = {options.reduction == LossReduction::kNone ? same : f32_or_wider},
                   .slope_terms = 64};
  result.run = [=](const Tensors& in) { return Tensors{ops::gaussian_nll_loss(in[0], in[1], in[2], options)}; };
  result.reference = [=](const Arrays& in) {
    Array losses(in[0].shape);
    for (int64_t i = 0; i < losses.size(); ++i) {
      const double d = in[0][i] - in[1][i], v = in[2][i * in[2].size() / losses.size()];
      const double constant = options.full ? 0.5 * std::log(8 * std::atan(1.0)) : 0;
      losses[i] = 0.5 * (std::log(v) + d * d / v) + constant;
      losses.slack.push_back(2 * kFunctionError * (std::fabs(std::log(v)) + d * d / v + constant));
    }
    return reduced_losses(losses, options.reduction);
  };
  return result;
}

std::vector<OpCase> gaussian_cases() {
  const std::vector<Shapes> elements = {
      {{0, 3}, {0, 3}, {0, 3}}, {{1}, {1}, {1}}, {{7, 5}, {7, 5}, {7, 5}}, {{15, 2305}, {15, 2305}, {15, 2305}}};
  const std::vector<Shapes> rows = {{{7, 5}, {7, 5}, {7, 1}}, {{3, 5, 7}, {3, 5, 7}, {3, 5}}};
  return {gaussian_case("as mean", {}, elements), gaussian_case("as sum", {.reduction = LossReduction::kSum}, rows),
          gaussian_case("of each element, full", {.full = true, .reduction = LossReduction::kNone}, elements)};
}

}  // namespace

std::vector<OpCase> loss_cases() {
  std::vector<OpCase> cases = {probabilities_case(), weighted_case(), weighted_probabilities_case(LossReduction::kNone),
                               weighted_probabilities_case(LossReduction::kMean)};
  for (const OpCase& one : gaussian_cases()) cases.push_back(one);
  for (const LossReduction reduction : {LossReduction::kMean, LossReduction::kSum, LossReduction::kNone}) {
    const std::vector<OpCase> part = cases_of_reduction(reduction);
    cases.insert(cases.end(), part.begin(), part.end());
  }
  return cases;
}

}  // namespace halftone
