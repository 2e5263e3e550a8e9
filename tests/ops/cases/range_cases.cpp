// Normalisations, deviations and norms of elements whose powers leave the range of the compute type, and means whose
// sums do. A normalised row does not depend on the scale of its elements, and a norm is in proportion to it, so these
// cases are those of norm_cases.cpp, batch_norm_cases.cpp, reduce_cases.cpp and vector_norm_cases.cpp with inputs that
// a power of two multiplies.
#include <algorithm>
#include <cmath>

#include "autograd/scope.h"
#include "normalized.h"
#include "ops/elementwise/scalar.h"
#include "ops/norm/norms.h"
#include "ops/ops.h"
#include "tensor/factory.h"

namespace halftone {

namespace {

// The exponents of the factors in f64 and in f32 and bf16.
struct Scale {
  int wide;
  int narrow;
};
constexpr Scale kSquaresOverflow = {530, 66};
constexpr Scale kQuotientIsSubnormal = {1015, 122};
constexpr Scale kSumOverflows = {508, 62};
constexpr Scale kSquaresVanish = {-505, -70};
constexpr Scale kDeviationIsTiny = {-505, -110};
constexpr Scale kPowersOverflow = {900, 66};
constexpr Scale kPowersVanish = {-900, -100};

// Calls `run` with the first `count` inputs multiplied. F16 has not the range, so it is computed in FP32. The second
// result, the sum of a norm of a sum or the mean of var_mean, is in proportion to the inputs.
Tensors run_scaled(const std::function<Tensors(const Tensors&)>& run, size_t count, Scale scale, ResultDtype as,
                   const Tensors& in, size_t autocast_results = 1) {
  const DType dtype = in[0].dtype();
  const int exponent = dtype == DType::kF64 ? scale.wide : scale.narrow;
  Tensors inputs = in;
  for (size_t i = 0; i < count; ++i) {
    const Tensor x = dtype == DType::kF16 ? ops::cast(in[i], DType::kF32) : in[i];
    inputs[i] = ops::mul_scalar(x, std::ldexp(1.0, exponent));
  }
  Tensors results = run(inputs);
  if (results.size() > 1) results[1] = ops::mul_scalar(results[1], std::ldexp(1.0, -exponent));
  for (size_t i = 0; i < results.size() && dtype == DType::kF16; ++i) {
    // Autocast's result is FP32 as it is.
    if (i >= autocast_results || scope().autocast == nullptr) results[i] = ops::cast(results[i], as(dtype));
  }
  return results;
}

// Epsilon is nothing beside the variance in the reference, too.
Arrays reference_scaled(const std::function<Arrays(const Arrays&)>& reference, size_t count, const Arrays& in) {
  Arrays inputs = in;
  for (size_t i = 0; i < count; ++i) {
    for (double& x : inputs[i].values) x *= 0x1p200;
  }
  Arrays results = reference(inputs);
  if (results.size() > 1) {
    for (double& x : results[1].values) x *= 0x1p-200;
  }
  return results;
}

OpCase scaled(const OpCase& plain, const char* what, Scale scale) {
  const size_t count = plain.autocast_results == 1 ? 2 : 1;  // summands
  OpCase result = plain;
  result.what = what;
  // Without epsilon the gradient of a row of one or two elements is 0, as the difference of equal numbers.
  std::erase_if(result.shapes, [&](const Shapes& shapes) {
    const Shape& shape = shapes[0];
    const bool has_pairs = plain.op == Op::kGroupNorm && shape.rank() == 2;
    return shape[shape.rank() - 1] < 3 || has_pairs || numel(shape) == 0 || numel(shape) > 40000;
  });
  result.run = [=, run = plain.run](const Tensors& in) { return run_scaled(run, count, scale, same, in); };
  result.reference = [=, reference = plain.reference](const Arrays& in) {
    return reference_scaled(reference, count, in);
  };
  return result;
}

// A first result in proportion to a power of the inputs' scale, which is undone.
OpCase in_proportion(const OpCase& plain, const char* what, Scale scale, int degree = 1) {
  OpCase result = plain;
  result.what = what;
  std::erase_if(result.shapes, [](const Shapes& shapes) { return numel(shapes[0]) == 0; });
  result.run = [=, run = plain.run](const Tensors& in) {
    const int exponent = in[0].dtype() == DType::kF64 ? scale.wide : scale.narrow;
    const auto run_plain = [&](const Tensors& scaled) {
      Tensors results = run(scaled);
      results[0] = ops::mul_scalar(results[0], std::ldexp(1.0, -degree * exponent));
      return results;
    };
    return run_scaled(run_plain, 1, scale, same, in, plain.autocast_results);
  };
  return result;
}

// With an epsilon to the scale of the rows, so that the reference is that of plain rows.
OpCase with_scaled_epsilon(Op op, const char* what, std::vector<Shapes> shapes, Scale scale) {
  const auto run = [op, scale](const Tensors& in) -> Tensors {
    const Shape last = {in[0].size(in[0].rank() - 1)};
    const int exponent = in[0].dtype() == DType::kF64 ? scale.wide : scale.narrow;
    const double epsilon = std::ldexp(kNormEpsilon, 2 * exponent);
    if (op == Op::kBatchNorm) return {ops::batch_norm(in[0], {}, {}, {}, {.training = true, .epsilon = epsilon})};
    if (op == Op::kRmsNorm) return {ops::rms_norm(in[0], last, {}, epsilon)};
    return {ops::layer_norm(in[0], last, {}, {}, epsilon)};
  };
  const auto reference = [op](const Arrays& in) -> Arrays {
    const int64_t length = in[0].shape[in[0].shape.rank() - 1];
    const Shape shape = in[0].shape;
    const auto column = [=](const Shape& index) { return place_of(shape, index) % length; };
    const auto row = [=](const Shape& index) { return place_of(shape, index) / length; };
    const bool by_column = op == Op::kBatchNorm;
    const Grouping groups = {by_column ? std::function<int64_t(const Shape&)>(column) : row, column,
                             by_column ? length : in[0].size() / length};
    return {normalized(in[0], groups,
                       op == Op::kRmsNorm ? mean_squares_of(in[0], groups) : statistics_of(in[0], groups), nullptr,
                       nullptr)};
  };
  return {.op = op,
          .what = what,
          .inputs = {{distinct()}},
          .shapes = std::move(shapes),
          .run = [=](const Tensors& in) { return run_scaled(run, 1, scale, same, in); },
          .reference = reference,
          .slope_terms = kNormSlopeTerms};
}

// The mean of terms whose sum is beyond the dtype. The result is scaled down, so that every dtype holds it.
OpCase mean_case(Op op, ResultDtype as, const std::function<Tensor(const Tensor&)>& mean) {
  return {.op = op,
          .what = "of terms near the largest number",
          .inputs = {{uniform(1, 1.9)}},
          .shapes = {{{5}}, {{7, 5}}, {{2305, 9}}},
          .run =
              [mean, as](const Tensors& in) {
                const int exponent = in[0].dtype() == DType::kF64 ? 1020 : 124;
                return run_scaled(
                    [&](const Tensors& scaled) -> Tensors {
                      return {ops::mul_scalar(mean(scaled[0]), std::ldexp(1.0, -exponent))};
                    },
                    1, {1023, 127}, as, in);
              },
          .reference = [](const Arrays& in) -> Arrays {
            Sum sum;
            for (const double x : in[0].values) sum.add(8 * x);
            Array out((Shape()));
            out[0] = sum.value() / static_cast<double>(in[0].size());
            out.slack.push_back(sum.slack_pairwise() / static_cast<double>(in[0].size()));
            return {out};
          },
          .results = {as},
          .has_gradient = false};
}

}  // namespace

std::vector<OpCase> range_cases() {
  std::vector<OpCase> plain = norm_cases();
  for (OpCase& of_batch : batch_norm_cases()) {
    if (of_batch.results.size() > 1 || of_batch.what == std::string("with running statistics") ||
        of_batch.what == std::string("with running statistics alone")) {
      continue;
    }
    if (of_batch.inputs.size() == 1) of_batch.shapes.push_back({{2305, 9}});
    plain.push_back(std::move(of_batch));
  }
  std::vector<OpCase> cases;
  for (const OpCase& op_case : plain) {
    cases.push_back(scaled(op_case, "of large rows", kSquaresOverflow));
    cases.push_back(scaled(op_case, "of very large rows", kQuotientIsSubnormal));
  }
  const std::vector<Shapes> rows = {{{7, 5}}, {{3, 2305}}, {{2, 9001}}}, columns = {{{7, 5}}, {{2305, 9}}};
  for (const Op op : {Op::kLayerNorm, Op::kRmsNorm, Op::kBatchNorm}) {
    const std::vector<Shapes>& shapes = op == Op::kBatchNorm ? columns : rows;
    cases.push_back(with_scaled_epsilon(op, "of small rows", shapes, kSquaresVanish));
    cases.push_back(with_scaled_epsilon(op, "of very small rows", shapes, kDeviationIsTiny));
    if (op != Op::kBatchNorm)
      cases.push_back(
          with_scaled_epsilon(op, "of long rows whose squares have a large sum", {{{2, 9001}}}, kSumOverflows));
  }
  for (const OpCase& op_case : reduce_cases()) {
    if (op_case.op == Op::kVarMean)
      cases.push_back(in_proportion(op_case, "of a large sum of squares", kSumOverflows, 2));
    if (op_case.op != Op::kStd) continue;
    cases.push_back(in_proportion(op_case, "of large elements", kSquaresOverflow));
    cases.push_back(in_proportion(op_case, "of very large elements", kPowersOverflow));
    cases.push_back(in_proportion(op_case, "of small elements", kSquaresVanish));
    cases.push_back(in_proportion(op_case, "of very small elements", kPowersVanish));
  }
  for (const OpCase& op_case : vector_norm_cases()) {
    if (std::string(op_case.what).ends_with("infinity") || op_case.what == std::string("with p = 0")) continue;
    cases.push_back(in_proportion(op_case, "of large elements", kPowersOverflow));
    cases.push_back(in_proportion(op_case, "of small elements", kPowersVanish));
  }
  cases.push_back(mean_case(Op::kMean, same, [](const Tensor& x) { return ops::mean(x, {}, false); }));
  cases.push_back(mean_case(Op::kL1Loss, f32_or_wider, [](const Tensor& x) {
    return ops::l1_loss(x, full(x.device(), x.dtype(), x.shape(), 0), LossReduction::kMean);
  }));
  cases.push_back(mean_case(Op::kNllLoss, f32_or_wider, [](const Tensor& x) {
    const Tensor targets = full(x.device(), DType::kI64, {x.numel()}, 0);
    return ops::nll_loss(ops::neg(ops::reshape(x, {x.numel(), 1})), targets, {}, {});
  }));
  cases.push_back(mean_case(Op::kCrossEntropy, f32_or_wider, [](const Tensor& x) {
    const Tensor column = ops::reshape(x, {x.numel(), 1});
    const Tensor logits = ops::cat({column, full(x.device(), x.dtype(), column.shape(), 0)}, 1);
    return ops::cross_entropy(logits, full(x.device(), DType::kI64, {x.numel()}, 1), {}, {});
  }));
  return cases;
}

}  // namespace halftone
