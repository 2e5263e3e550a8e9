// Connectionist temporal classification, against the sum over every alignment.
#include <cmath>
#include <limits>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

// The labels of an alignment: repeated classes once, and no blanks.
std::vector<int64_t> collapsed(const std::vector<int64_t>& path, int64_t blank) {
  std::vector<int64_t> labels;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != blank && (i == 0 || path[i] != path[i - 1])) labels.push_back(path[i]);
  }
  return labels;
}

struct Sequence {
  int64_t number;  // in the batch
  int64_t times;
  std::vector<int64_t> target;
};

// Minus the logarithm of the probability of all paths with the labels of the target, among c^times paths.
double loss_of_paths(const Array& logs, const Sequence& sequence, int64_t blank) {
  const int64_t n = logs.shape[1], classes = logs.shape[2];
  long double sum = 0;
  std::vector<int64_t> path(static_cast<size_t>(sequence.times), 0);
  for (;;) {
    if (collapsed(path, blank) == sequence.target) {
      long double log = 0;
      for (size_t t = 0; t < path.size(); ++t) {
        log += logs[(static_cast<int64_t>(t) * n + sequence.number) * classes + path[t]];
      }
      sum += std::exp(log);
    }
    size_t t = 0;
    while (t < path.size() && ++path[t] == classes) path[t++] = 0;
    if (t == path.size()) break;
  }
  return static_cast<double>(-std::log(sum));
}

// An empty target has one path.
double loss_of_blanks(const Array& logs, const Sequence& sequence, int64_t blank) {
  double sum = 0;
  for (int64_t t = 0; t < sequence.times; ++t) {
    sum -= logs[(t * logs.shape[1] + sequence.number) * logs.shape[2] + blank];
  }
  return sum;
}

Sequence sequence_of(const Arrays& in, int64_t number) {
  Sequence sequence = {number, static_cast<int64_t>(in[2][number]), {}};
  for (int64_t i = 0; i < static_cast<int64_t>(in[3][number]); ++i) {
    sequence.target.push_back(static_cast<int64_t>(in[1][number * in[1].shape[1] + i]));
  }
  return sequence;
}

Array losses_of_sequences(const Arrays& in, int64_t blank) {
  Array losses({in[0].shape[1]});
  for (int64_t n = 0; n < losses.size(); ++n) {
    const Sequence sequence = sequence_of(in, n);
    losses[n] =
        sequence.target.empty() ? loss_of_blanks(in[0], sequence, blank) : loss_of_paths(in[0], sequence, blank);
    losses.slack.push_back(16 * (1 + std::fabs(losses[n])));
  }
  return losses;
}

Arrays reduced_sequences(const Array& losses, const Array& lengths, LossReduction reduction) {
  if (reduction == LossReduction::kNone) return {losses};
  Array out(Shape{});
  double sum = 0, slack = 0;
  for (int64_t n = 0; n < losses.size(); ++n) {
    const double divisor = reduction == LossReduction::kMean ? std::max(1.0, lengths[n]) : 1;
    sum += losses[n] / divisor;
    slack += losses.slack[static_cast<size_t>(n)];
  }
  const double count = reduction == LossReduction::kMean ? static_cast<double>(losses.size()) : 1;
  out[0] = sum / count;
  out.slack = {slack};
  return {out};
}

// The numbers of `values` in turn.
OpInput turning(std::vector<double> values) {
  return {[values](std::mt19937&, const Shapes&, int64_t i) { return values[static_cast<size_t>(i) % values.size()]; },
          DType::kI64};
}

// Equal labels in a row need a blank between them.
OpCase ctc_case(LossReduction reduction, std::vector<double> input_lengths, std::vector<double> target_lengths,
                std::vector<Shapes> shapes, int64_t blank = 1) {
  return {.op = Op::kCtcLoss,
          .what = reduction == LossReduction::kMean  ? "as mean"
                  : reduction == LossReduction::kSum ? "as sum"
                                                     : "of each sequence",
          .inputs = {{uniform(-3, -0.25)},
                     turning({0, 0, 2, 2, 0, 2, 0, 2, 0}),
                     turning(std::move(input_lengths)),
                     turning(std::move(target_lengths))},
          .shapes = std::move(shapes),
          .run =
              [=](const Tensors& in) {
                return Tensors{ops::ctc_loss(in[0], {in[1], in[2], in[3]}, {.blank = blank, .reduction = reduction})};
              },
          .reference =
              [=](const Arrays& in) { return reduced_sequences(losses_of_sequences(in, blank), in[3], reduction); },
          .results = {reduction == LossReduction::kNone ? same : f32_or_wider},
          .slope_terms = 4};
}

}  // namespace

std::vector<OpCase> ctc_cases() {
  const std::vector<Shapes> small = {{{5, 3, 3}, {3, 3}, {3}, {3}}, {{7, 1, 3}, {1, 2}, {1}, {1}}};
  std::vector<OpCase> cases;
  for (const LossReduction reduction : {LossReduction::kMean, LossReduction::kSum, LossReduction::kNone}) {
    cases.push_back(ctc_case(reduction, {5, 4, 5}, {2, 1, 0}, small));
  }
  cases.back().shapes.push_back({{2, 0, 3}, {0, 2}, {0}, {0}});
  cases.push_back(ctc_case(LossReduction::kNone, {4}, {0}, {{{5, 3, 2305}, {3, 1}, {3}, {3}}}));
  cases.push_back(ctc_case(LossReduction::kNone, {1}, {0}, {{{1, 1, 1}, {1, 1}, {1}, {1}}}, 0));
  return cases;
}

}  // namespace halftone
