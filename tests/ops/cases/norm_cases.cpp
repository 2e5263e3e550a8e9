// Layer, RMS and group normalisation.
#include "normalized.h"
#include "ops/norm/norms.h"

namespace halftone {

namespace {

// The last `last` dimensions form a row.
Grouping rows_of(const Shape& shape, int last) {
  int64_t length = 1;
  for (int d = shape.rank() - last; d < shape.rank(); ++d) length *= shape[d];
  const int64_t rows = length > 0 ? numel(shape) / length : 0;
  return {.group = [=](const Shape& index) { return place_of(shape, index) / length; },
          .channel = [=](const Shape& index) { return place_of(shape, index) % length; },
          .groups = rows};
}

// Splits the channels of an image into `count` groups.
Grouping channel_groups_of(const Shape& shape, int64_t count) {
  return {.group = [=](const Shape& index) { return index[0] * count + index[1] / (shape[1] / count); },
          .channel = [](const Shape& index) { return index[1]; },
          .groups = shape[0] * count};
}

const OpInput kInput = {uniform(-2, 2)};
const OpInput kWeight = {uniform(0.5, 1.5)};
const OpInput kBias = {uniform(-1, 1)};

Tensors run_layer_norm(const Tensors& in) {
  const bool has_affine = in.size() > 1;
  const Shape last = has_affine ? in[1].shape() : Shape{in[0].size(in[0].rank() - 1)};
  return {ops::layer_norm(in[0], last, has_affine ? in[1] : Tensor(), has_affine ? in[2] : Tensor(), kNormEpsilon)};
}

Arrays layer_norm_of(const Arrays& in) {
  const bool has_affine = in.size() > 1;
  const Grouping rows = rows_of(in[0].shape, has_affine ? in[1].shape.rank() : 1);
  return {normalized(in[0], rows, statistics_of(in[0], rows), has_affine ? &in[1] : nullptr,
                     has_affine ? &in[2] : nullptr)};
}

Tensors run_rms_norm(const Tensors& in) {
  const Shape last = in.size() > 1 ? in[1].shape() : Shape{in[0].size(in[0].rank() - 1)};
  return {ops::rms_norm(in[0], last, in.size() > 1 ? in[1] : Tensor(), kNormEpsilon)};
}

Arrays rms_norm_of(const Arrays& in) {
  const Grouping rows = rows_of(in[0].shape, in.size() > 1 ? in[1].shape.rank() : 1);
  return {normalized(in[0], rows, mean_squares_of(in[0], rows), in.size() > 1 ? &in[1] : nullptr, nullptr)};
}

Array sum_of(const Array& a, const Array& b) {
  Array sum(a.shape);
  for (int64_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
  return sum;
}

// Sums of these are exact in every dtype, so the norm is that of the sum without a rounding.
const std::vector<OpInput> kExactSummands = {{distinct()}, {distinct(5)}};

std::vector<OpInput> with_summands(std::vector<OpInput> affine) {
  affine.insert(affine.begin(), kExactSummands.begin(), kExactSummands.end());
  return affine;
}

std::vector<OpCase> norm_of_sum_cases() {
  return {
      {.op = Op::kLayerNorm,
       .what = "of a sum",
       .inputs = with_summands({{uniform(0.5, 1.5)}, {uniform(-1, 1)}}),
       .shapes = {{{0, 3}, {0, 3}, {3}, {3}},
                  {{1}, {1}, {1}, {1}},
                  {{7, 5}, {7, 5}, {5}, {5}},
                  {{3, 2, 3}, {3, 2, 3}, {2, 3}, {2, 3}},
                  {{15, 2305}, {15, 2305}, {2305}, {2305}}},
       .run = [](const Tensors& in) -> Tensors {
         const auto [sum, norm] = ops::add_layer_norm(in[0], in[1], in[2].shape(), in[2], in[3], kNormEpsilon);
         return {norm, sum};
       },
       .reference = [](const Arrays& in) -> Arrays {
         const Array sum = sum_of(in[0], in[1]);
         return {layer_norm_of({sum, in[2], in[3]})[0], sum};
       },
       .autocast_results = 1,
       .slope_terms = kNormSlopeTerms},
      {.op = Op::kRmsNorm,
       .what = "of a sum",
       .inputs = kExactSummands,
       .shapes = {{{0, 3}, {0, 3}}, {{1}, {1}}, {{7, 5}, {7, 5}}, {{15, 2305}, {15, 2305}}},
       .run = [](const Tensors& in) -> Tensors {
         const Shape last = {in[0].size(in[0].rank() - 1)};
         const auto [sum, norm] = ops::add_rms_norm(in[0], in[1], last, Tensor(), kNormEpsilon);
         return {norm, sum};
       },
       .reference = [](const Arrays& in) -> Arrays {
         const Array sum = sum_of(in[0], in[1]);
         return {rms_norm_of({sum})[0], sum};
       },
       .autocast_results = 1,
       .slope_terms = kNormSlopeTerms},
  };
}

Tensors run_group_norm(const Tensors& in, int64_t groups) {
  const bool has_affine = in.size() > 1;
  return {ops::group_norm(in[0], groups, has_affine ? in[1] : Tensor(), has_affine ? in[2] : Tensor(), kNormEpsilon)};
}

Arrays group_norm_of(const Arrays& in, int64_t count) {
  const bool has_affine = in.size() > 1;
  const Grouping groups = channel_groups_of(in[0].shape, count);
  return {normalized(in[0], groups, statistics_of(in[0], groups), has_affine ? &in[1] : nullptr,
                     has_affine ? &in[2] : nullptr)};
}

OpCase group_norm_case(const char* what, std::vector<OpInput> inputs, std::vector<Shapes> shapes, int64_t groups) {
  return {.op = Op::kGroupNorm,
          .what = what,
          .inputs = std::move(inputs),
          .shapes = std::move(shapes),
          .run = [groups](const Tensors& in) { return run_group_norm(in, groups); },
          .reference = [groups](const Arrays& in) { return group_norm_of(in, groups); },
          .slope_terms = kNormSlopeTerms};
}

OpCase instance_norm_case(const char* what, std::vector<OpInput> inputs, std::vector<Shapes> shapes) {
  OpCase result = group_norm_case(what, std::move(inputs), std::move(shapes), 1);
  result.op = Op::kInstanceNorm;
  result.run = [](const Tensors& in) -> Tensors {
    const bool has_affine = in.size() > 1;
    return {ops::instance_norm(in[0], has_affine ? in[1] : Tensor(), has_affine ? in[2] : Tensor(), kNormEpsilon)};
  };
  result.reference = [](const Arrays& in) { return group_norm_of(in, in[0].shape[1]); };
  return result;
}

const std::vector<Shapes> kPlainRows = {{{0, 3}}, {{1}}, {{7, 5}}, {{2, 3, 9}}, {{15, 2305}}};

}  // namespace

std::vector<OpCase> norm_cases() {
  std::vector<OpCase> cases = {
      {.op = Op::kLayerNorm,
       .what = "with weight and bias",
       .inputs = {kInput, kWeight, kBias},
       .shapes = {{{0, 3}, {3}, {3}},
                  {{1}, {1}, {1}},
                  {{7, 5}, {5}, {5}},
                  {{3, 2, 3}, {2, 3}, {2, 3}},
                  {{2, 3}, {2, 3}, {2, 3}},
                  {{5, 1}, {5, 1}, {5, 1}},
                  {{15, 2305}, {2305}, {2305}},
                  {{2305, 15}, {15}, {15}}},
       .run = run_layer_norm,
       .reference = layer_norm_of,
       .slope_terms = kNormSlopeTerms},
      {.op = Op::kLayerNorm,
       .what = "alone",
       .inputs = {kInput},
       .shapes = kPlainRows,
       .run = run_layer_norm,
       .reference = layer_norm_of,
       .slope_terms = kNormSlopeTerms},
      {.op = Op::kLayerNorm,
       .what = "with a bias alone",
       .inputs = {kInput, kBias},
       .shapes = {{{3, 5}, {5}}},
       .run = [](const Tensors& in) -> Tensors {
         return {ops::layer_norm(in[0], in[1].shape(), Tensor(), in[1], kNormEpsilon)};
       },
       .reference = [](const Arrays& in) -> Arrays {
         const Grouping rows = rows_of(in[0].shape, 1);
         return {normalized(in[0], rows, statistics_of(in[0], rows), nullptr, &in[1])};
       },
       .slope_terms = kNormSlopeTerms},
      {.op = Op::kLayerNorm,
       .what = "of all dimensions",
       .inputs = {kInput},
       .shapes = {{{2, 3}}, {{5, 1}}, {{3, 2, 3}}},
       .run = [](const Tensors& in) -> Tensors {
         return {ops::layer_norm(in[0], in[0].shape(), Tensor(), Tensor(), kNormEpsilon)};
       },
       .reference = [](const Arrays& in) -> Arrays {
         const Grouping rows = rows_of(in[0].shape, in[0].shape.rank());
         return {normalized(in[0], rows, statistics_of(in[0], rows), nullptr, nullptr)};
       },
       .slope_terms = kNormSlopeTerms},
      {.op = Op::kRmsNorm,
       .what = "with weight",
       .inputs = {kInput, kWeight},
       .shapes = {{{0, 3}, {3}},
                  {{1}, {1}},
                  {{7, 5}, {5}},
                  {{3, 2, 3}, {2, 3}},
                  {{2, 3}, {2, 3}},
                  {{5, 1}, {5, 1}},
                  {{15, 2305}, {2305}},
                  {{2305, 15}, {15}}},
       .run = run_rms_norm,
       .reference = rms_norm_of,
       .slope_terms = kNormSlopeTerms},
      {.op = Op::kRmsNorm,
       .what = "alone",
       .inputs = {kInput},
       .shapes = kPlainRows,
       .run = run_rms_norm,
       .reference = rms_norm_of,
       .slope_terms = kNormSlopeTerms},
      group_norm_case("in three groups", {kInput, kWeight, kBias},
                      {{{0, 3, 2}, {3}, {3}},
                       {{1, 3, 3}, {3}, {3}},
                       {{2, 6, 5}, {6}, {6}},
                       {{3, 6}, {6}, {6}},
                       {{5, 9, 28, 29}, {9}, {9}}},
                      3),
      instance_norm_case("with weight and bias", {kInput, kWeight, kBias},
                         {{{0, 3, 2}, {3}, {3}}, {{2, 3, 5}, {3}, {3}}, {{5, 9, 28, 29}, {9}, {9}}}),
      instance_norm_case("alone", {kInput}, {{{0, 2, 3}}, {{1, 1}}, {{3, 5, 7}}, {{1, 2, 3, 3, 2}}}),
      group_norm_case("in one group alone", {kInput}, {{{0, 2}}, {{1, 1}}, {{3, 5}}, {{1, 2, 3}}, {{3, 2, 3, 3}}}, 1),
  };
  for (OpCase& of_sum : norm_of_sum_cases()) cases.push_back(std::move(of_sum));
  return cases;
}

}  // namespace halftone
