// Batch normalisation in training and in evaluation.
#include <cmath>

#include "normalized.h"
#include "ops/norm/norms.h"
#include "tensor/factory.h"
#include "tolerance.h"

namespace halftone {

namespace {

constexpr double kMomentum = 0.25;

Grouping channels_of(const Shape& shape) {
  return {.group = [](const Shape& index) { return index[1]; },
          .channel = [](const Shape& index) { return index[1]; },
          .groups = shape[1]};
}

// Running statistics are not inputs of the case, because the call writes them: every call gets its own, in f32 or f64.
constexpr double kRunningMean = 0.5;
constexpr double kRunningVariance = 2;

ops::RunningStatistics running_for(const Tensor& input) {
  const DType dtype = compute_dtype(input.dtype());
  return {full(input.device(), dtype, {input.size(1)}, kRunningMean),
          full(input.device(), dtype, {input.size(1)}, kRunningVariance)};
}

Tensors run_training(const Tensors& in) {
  const ops::RunningStatistics running = running_for(in[0]);
  const ops::BatchNormSettings settings = {.training = true, .momentum = kMomentum, .epsilon = kNormEpsilon};
  const Tensor result = ops::batch_norm(in[0], running, in[1], in[2], settings);
  return {result, running.mean, running.variance};
}

// An empty batch does not change the running statistics.
Array moved(double from, const std::vector<double>& batch, bool is_empty) {
  Array out(Shape{static_cast<int64_t>(batch.size())});
  for (int64_t i = 0; i < out.size(); ++i) {
    out[i] = is_empty ? from : (1 - kMomentum) * from + kMomentum * batch[static_cast<size_t>(i)];
    // The error of a mean of values below 4, added pairwise, and of the few operations of the update.
    out.slack.push_back(4 * 40 * kMomentum + kFunctionError * std::fabs(out[i]));
  }
  return out;
}

Arrays training_of(const Arrays& in) {
  const Grouping channels = channels_of(in[0].shape);
  const Statistics statistics = statistics_of(in[0], channels);
  std::vector<double> unbiased;
  for (size_t c = 0; c < statistics.variance.size(); ++c) {
    unbiased.push_back(statistics.variance[c] * statistics.count[c] / (statistics.count[c] - 1));
  }
  const bool is_empty = in[0].size() == 0;
  return {normalized(in[0], channels, statistics, &in[1], &in[2]), moved(kRunningMean, statistics.mean, is_empty),
          moved(kRunningVariance, unbiased, is_empty)};
}

Tensors run_evaluating(const Tensors& in) {
  const bool has_affine = in.size() > 1;
  return {ops::batch_norm(in[0], running_for(in[0]), has_affine ? in[1] : Tensor(), has_affine ? in[2] : Tensor(),
                          {.training = false, .momentum = kMomentum, .epsilon = kNormEpsilon})};
}

Arrays evaluating_of(const Arrays& in) {
  const bool has_affine = in.size() > 1;
  const auto channels = static_cast<size_t>(in[0].shape[1]);
  const Statistics given = {
      std::vector<double>(channels, kRunningMean), std::vector<double>(channels, kRunningVariance), {}};
  return {
      normalized(in[0], channels_of(in[0].shape), given, has_affine ? &in[1] : nullptr, has_affine ? &in[2] : nullptr)};
}

// The batch's own statistics, where none are kept.
Tensors run_without_statistics(const Tensors& in) {
  const bool has_affine = in.size() > 1;
  return {ops::batch_norm(in[0], {}, has_affine ? in[1] : Tensor(), has_affine ? in[2] : Tensor(),
                          {.training = true, .momentum = kMomentum, .epsilon = kNormEpsilon})};
}

Arrays without_statistics_of(const Arrays& in) {
  const bool has_affine = in.size() > 1;
  const Grouping channels = channels_of(in[0].shape);
  return {normalized(in[0], channels, statistics_of(in[0], channels), has_affine ? &in[1] : nullptr,
                     has_affine ? &in[2] : nullptr)};
}

DType wide(DType dtype) { return compute_dtype(dtype); }

}  // namespace

std::vector<OpCase> batch_norm_cases() {
  const OpInput input = {uniform(-2, 2)}, weight = {uniform(0.5, 1.5)}, bias = {uniform(-1, 1)};
  return {
      {.op = Op::kBatchNorm,
       .what = "in training",
       .inputs = {input, weight, bias},
       .shapes = {{{0, 3}, {3}, {3}},
                  {{3, 1}, {1}, {1}},
                  {{7, 5}, {5}, {5}},
                  {{3, 3, 5}, {3}, {3}},
                  {{2, 3, 2, 3}, {3}, {3}},
                  {{5, 9, 28, 29}, {9}, {9}},
                  {{2305, 15}, {15}, {15}}},
       .run = run_training,
       .reference = training_of,
       .results = {same, wide},
       .slope_terms = kNormSlopeTerms},
      {.op = Op::kBatchNorm,
       .what = "in training without running statistics",
       .inputs = {input, weight, bias},
       .shapes = {{{4, 5}, {5}, {5}}, {{2, 3, 2, 3}, {3}, {3}}},
       .run = run_without_statistics,
       .reference = without_statistics_of,
       .slope_terms = kNormSlopeTerms},
      {.op = Op::kBatchNorm,
       .what = "in training alone",
       .inputs = {input},
       .shapes = {{{7, 3}}, {{2, 3, 5}}},
       .run = run_without_statistics,
       .reference = without_statistics_of,
       .slope_terms = kNormSlopeTerms},
      {.op = Op::kBatchNorm,
       .what = "with running statistics",
       .inputs = {input, weight, bias},
       .shapes = {{{0, 3}, {3}, {3}}, {{1, 1}, {1}, {1}}, {{7, 5}, {5}, {5}}, {{5, 9, 28, 29}, {9}, {9}}},
       .run = run_evaluating,
       .reference = evaluating_of,
       .slope_terms = kNormSlopeTerms},
      {.op = Op::kBatchNorm,
       .what = "with running statistics alone",
       .inputs = {input},
       .shapes = {{{0, 3}}, {{1, 1, 1}}, {{3, 3, 5}}},
       .run = run_evaluating,
       .reference = evaluating_of,
       .slope_terms = kNormSlopeTerms},
  };
}

}  // namespace halftone
