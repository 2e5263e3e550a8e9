// Distances and similarities of vectors, and losses of them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

constexpr double kInfiniteP = std::numeric_limits<double>::infinity();

using Vector = std::vector<double>;

double norm_of_vector(const Vector& vector, double p) {
  long double sum = 0;
  double largest = 0;
  for (const double x : vector) {
    largest = std::max(largest, std::fabs(x));
    if (!std::isinf(p)) sum += p == 0 ? (x != 0 ? 1 : 0) : std::pow(std::fabs(static_cast<long double>(x)), p);
  }
  if (std::isinf(p)) return largest;
  return static_cast<double>(p == 0 ? sum : std::pow(sum, 1 / static_cast<long double>(p)));
}

// Row `row` of an array whose last dimension is the vectors.
Vector row_of(const Array& array, int64_t row) {
  const int64_t length = array.shape[array.shape.rank() - 1];
  Vector result;
  for (int64_t i = 0; i < length; ++i) result.push_back(array[row * length + i]);
  return result;
}

Shape without_last(const Shape& shape) { return Shape(shape.begin(), shape.rank() - 1); }

Vector difference_of(const Vector& a, const Vector& b, double epsilon) {
  Vector result;
  for (size_t i = 0; i < a.size(); ++i) result.push_back(a[i] - b[i] + epsilon);
  return result;
}

// function(rows of the inputs) for every row of inputs of one shape; an input with fewer dimensions has one number a
// row. The slack is `units` times the second value.
struct RowResult {
  double value;
  double magnitude;
};
template <class Function>
std::function<Arrays(const Arrays&)> each_row(Function function) {
  return [function](const Arrays& in) {
    Array out(without_last(in[0].shape));
    for (int64_t i = 0; i < out.size(); ++i) {
      std::vector<Vector> rows;
      for (const Array& input : in) {
        rows.push_back(input.shape == in[0].shape ? row_of(input, i) : Vector{input[i]});
      }
      const RowResult result = function(rows);
      out[i] = result.value;
      out.slack.push_back(64 * result.magnitude);
    }
    return Arrays{out};
  };
}

// Far from vectors that `uniform(-2, 2)` draws: no difference is near 0.
Draw far_below() { return uniform(-5, -4); }
// Odd multiples of 1/128 from 1/128 to 511/128, all different among 256 neighbours: magnitudes without ties.
Draw different() {
  return [](std::mt19937& random, const Shapes& shapes, int64_t i) { return (distinct()(random, shapes, i) + 2) / 2; };
}
Draw constantly(double value) { return uniform(value, value); }
// 1 or -1.
OpInput sign_input() {
  return {[](std::mt19937& random, const Shapes&, int64_t) { return random() % 2 == 0 ? 1.0 : -1.0; }, DType::kI64};
}

OpCase normalize_case(const char* what, double p, int64_t dim) {
  OpCase result = {.op = Op::kNormalize,
                   .what = what,
                   .inputs = {{distinct()}},
                   .shapes = {{{0, 3}}, {{3, 0}}, {{1, 1}}, {{7, 5}}, {{2, 3, 5}}, {{15, 2305}}},
                   .run = call_of_one([=](const Tensor& x) { return ops::normalize(x, p, dim, 1e-12); }),
                   .slope_terms = 8};
  result.reference = [=](const Arrays& in) {
    const Shape& shape = in[0].shape;
    Shape kept = shape;
    const int along = static_cast<int>(dim < 0 ? dim + shape.rank() : dim);
    kept[along] = 1;
    std::vector<Vector> lines(static_cast<size_t>(numel(kept)));
    int64_t i = 0;
    for_each_index(
        shape, [&](const Shape& at) { lines[static_cast<size_t>(repeated_place_of(kept, at))].push_back(in[0][i++]); });
    Array out(shape);
    i = 0;
    for_each_index(shape, [&](const Shape& at) {
      const double norm = norm_of_vector(lines[static_cast<size_t>(repeated_place_of(kept, at))], p);
      out[i] = in[0][i] / norm;
      ++i;
    });
    return Arrays{out};
  };
  return result;
}

double dot(const Vector& a, const Vector& b) {
  long double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<long double>(a[i]) * b[i];
  return static_cast<double>(sum);
}

// Sums of products of numbers up to 1 cancel.
RowResult cosine_of(const std::vector<Vector>& rows) {
  const double value = dot(rows[0], rows[1]) / std::sqrt(dot(rows[0], rows[0]) * dot(rows[1], rows[1]));
  return {value, 1};
}
// With the epsilon of a cosine embedding.
double bounded_cosine_of(const std::vector<Vector>& rows) {
  return dot(rows[0], rows[1]) / std::sqrt((dot(rows[0], rows[0]) + 1e-12) * (dot(rows[1], rows[1]) + 1e-12));
}

OpCase cosine_case() {
  return {.op = Op::kCosineSimilarity,
          .inputs = {{distinct()}, {uniform(-2, 2)}},
          .shapes = {{{0, 3}, {0, 3}}, {{7, 5}, {7, 5}}, {{3, 5, 7}, {3, 5, 7}}, {{15, 2305}, {15, 2305}}},
          .run = call_of_two([](const Tensor& a, const Tensor& b) { return ops::cosine_similarity(a, b, -1, 1e-8); }),
          .reference = each_row(cosine_of),
          .slope_terms = 8};
}

// Vectors of one number have a cosine of 1 or -1 that no small move changes: their gradient is a rounding error.
OpCase of_one_number(OpCase given, const Shapes& shapes) {
  given.what = "of one number";
  given.shapes = {shapes};
  given.has_gradient = false;
  return given;
}

// Along the first dimension. One vector is compared with several.
OpCase broadcast_cosine_case() {
  OpCase result = cosine_case();
  result.what = "of shapes that broadcast";
  result.shapes = {{{5, 1}, {5, 3}}, {{7, 3}, {7, 1}}};
  result.run = call_of_two([](const Tensor& a, const Tensor& b) { return ops::cosine_similarity(a, b, 0, 1e-8); });
  result.reference = [](const Arrays& in) {
    const Shape shape = joined(in[0].shape, in[1].shape);
    Array out({shape[1]});
    for (int64_t column = 0; column < shape[1]; ++column) {
      std::vector<Vector> rows(2);
      for (int64_t i = 0; i < shape[0]; ++i) {
        for (size_t k = 0; k < 2; ++k) rows[k].push_back(in[k][repeated_place_of(in[k].shape, {i, column})]);
      }
      const RowResult result_of_column = cosine_of(rows);
      out[column] = result_of_column.value;
      out.slack.push_back(64);
    }
    return Arrays{out};
  };
  return result;
}

OpCase pairwise_case(const char* what, double p, double epsilon, Draw first, Draw second) {
  OpCase result = {
      .op = Op::kPairwiseDistance,
      .what = what,
      .inputs = {{std::move(first)}, {std::move(second)}},
      .shapes = {{{0, 3}, {0, 3}}, {{1}, {1}}, {{7, 5}, {7, 5}}, {{3, 5, 7}, {3, 5, 7}}, {{15, 2305}, {15, 2305}}},
      .run = call_of_two(
          [=](const Tensor& a, const Tensor& b) { return ops::pairwise_distance(a, b, p, epsilon, false); })};
  result.reference = each_row([=](const std::vector<Vector>& rows) {
    const double norm = norm_of_vector(difference_of(rows[0], rows[1], epsilon), p);
    return RowResult{norm, norm};
  });
  return result;
}

OpCase kept_pairwise_case() {
  OpCase result = pairwise_case("of shapes that broadcast, kept", 2, 0, distinct(), uniform(-2, 2));
  result.shapes = {{{3, 1, 5}, {7, 5}}, {{5}, {3, 5}}};
  result.run = call_of_two([](const Tensor& a, const Tensor& b) { return ops::pairwise_distance(a, b, 2, 0, true); });
  result.reference = [](const Arrays& in) {
    Shape kept = joined(in[0].shape, in[1].shape);
    const int64_t length = kept[kept.rank() - 1];
    kept[kept.rank() - 1] = 1;
    Array out(kept);
    int64_t i = 0;
    for_each_index(kept, [&](const Shape& at) {
      Vector difference;
      Shape place = at;
      for (int64_t k = 0; k < length; ++k) {
        place[place.rank() - 1] = k;
        difference.push_back(in[0][repeated_place_of(in[0].shape, place)] -
                             in[1][repeated_place_of(in[1].shape, place)]);
      }
      out[i++] = norm_of_vector(difference, 2);
      out.slack.push_back(64 * out[i - 1]);
    });
    return Arrays{out};
  };
  return result;
}

Shape leading_of(const Shape& shape) { return Shape(shape.begin(), shape.rank() - 2); }

// The distances of a[..., i, :] and b[..., j, :].
Arrays all_distances(const Arrays& in, double p) {
  const Shape &a = in[0].shape, &b = in[1].shape;
  const Shape batch = joined(leading_of(a), leading_of(b));
  Shape shape = batch;
  shape.push_back(a[a.rank() - 2]);
  shape.push_back(b[b.rank() - 2]);
  Array out(shape);
  int64_t at_result = 0;
  for_each_index(shape, [&](const Shape& at) {
    const Shape lead(at.begin(), batch.rank());
    const int64_t first = repeated_place_of(leading_of(a), lead) * a[a.rank() - 2] + at[batch.rank()];
    const int64_t second = repeated_place_of(leading_of(b), lead) * b[b.rank() - 2] + at[batch.rank() + 1];
    out[at_result] = norm_of_vector(difference_of(row_of(in[0], first), row_of(in[1], second), 0), p);
    out.slack.push_back(64 * out[at_result++]);
  });
  return {out};
}

OpCase cdist_case(const char* what, double p, Draw first, Draw second, std::vector<Shapes> shapes) {
  return {.op = Op::kCdist,
          .what = what,
          .inputs = {{std::move(first)}, {std::move(second)}},
          .shapes = std::move(shapes),
          .run = call_of_two([=](const Tensor& a, const Tensor& b) { return ops::cdist(a, b, p); }),
          .reference = [=](const Arrays& in) { return all_distances(in, p); },
          .slope_terms = 4};
}

// Large ones take more than one block of differences.
std::vector<OpCase> cdist_cases() {
  const std::vector<Shapes> shapes = {{{0, 3}, {2, 3}},    {{3, 2}, {0, 2}},          {{3, 0}, {2, 0}},
                                      {{1, 1}, {1, 1}},    {{7, 5}, {3, 5}},          {{3, 5, 7}, {3, 2, 7}},
                                      {{2, 5, 3}, {4, 3}}, {{3, 1, 2, 5}, {2, 3, 5}}, {{35, 4099}, {11, 4099}}};
  const std::vector<Shapes> small = {{{1, 1}, {1, 1}}, {{3, 5, 7}, {3, 2, 7}}};
  return {cdist_case("with p = 2", 2, distinct(), uniform(-2, 2), shapes),
          cdist_case("with p = 1", 1, distinct(), uniform(-2, 2), small),
          cdist_case("with p = 3", 3, distinct(), uniform(-2, 2), small),
          cdist_case("with p = 1.5", 1.5, uniform(-2, 2), far_below(), small),
          cdist_case("with p = 0.5", 0.5, uniform(-2, 2), far_below(), small),
          cdist_case("with p = 0", 0, uniform(-2, 2), far_below(), small),
          cdist_case("with p = infinity", kInfiniteP, different(), constantly(-0.5),
                     {{{1, 1}, {1, 1}}, {{3, 0}, {2, 0}}, {{3, 5, 7}, {3, 2, 7}}})};
}

double hinge(double x) { return std::max(0.0, x); }

// The reduction of the losses of rows; 16-bit operands give an f32 result.
OpCase reduced_as(OpCase given, LossReduction reduction) {
  if (reduction == LossReduction::kNone) return given;
  given.what = reduction == LossReduction::kMean ? "as mean" : "as sum";
  given.results = {f32_or_wider};
  given.reference = [reduction, losses_of = given.reference](const Arrays& in) {
    const Array losses = losses_of(in)[0];
    Sum sum;
    double slack = 0;
    for (int64_t i = 0; i < losses.size(); ++i) {
      sum.add(losses[i]);
      slack += losses.slack[static_cast<size_t>(i)];
    }
    const double count = reduction == LossReduction::kMean ? static_cast<double>(losses.size()) : 1;
    Array out(Shape{});
    out[0] = sum.value() / count;
    out.slack = {(slack + sum.slack_pairwise()) / count};
    return Arrays{out};
  };
  return given;
}

OpCase ranking_case(LossReduction reduction) {
  OpCase result = {.op = Op::kMarginRankingLoss,
                   .what = "of each element",
                   .inputs = {{distinct()}, {uniform(-2, 2)}, sign_input()},
                   .shapes = {{{0, 3}, {0, 3}, {0, 3}},
                              {{1}, {1}, {1}},
                              {{7, 5}, {7, 5}, {7, 5}},
                              {{15, 2305}, {15, 2305}, {15, 2305}}},
                   .slope_terms = 4};
  result.run = [=](const Tensors& in) {
    return Tensors{ops::margin_ranking_loss(in[0], in[1], in[2], 0.75, reduction)};
  };
  result.reference = [](const Arrays& in) {
    Array out(in[0].shape);
    for (int64_t i = 0; i < out.size(); ++i) {
      out[i] = hinge(0.75 - in[2][i] * (in[0][i] - in[1][i]));
      out.slack.push_back(8 * (std::fabs(in[0][i]) + std::fabs(in[1][i]) + 1));
    }
    return Arrays{out};
  };
  return reduced_as(result, reduction);
}

OpCase cosine_embedding_case(LossReduction reduction) {
  OpCase result = {
      .op = Op::kCosineEmbeddingLoss,
      .what = "of each row",
      .inputs = {{distinct()}, {uniform(-2, 2)}, sign_input()},
      .shapes = {{{0, 3}, {0, 3}, {0}}, {{5}, {5}, {}}, {{7, 5}, {7, 5}, {7}}, {{15, 2305}, {15, 2305}, {15}}},
      .slope_terms = 8};
  result.run = [=](const Tensors& in) {
    return Tensors{ops::cosine_embedding_loss(in[0], in[1], in[2], 0.125, reduction)};
  };
  result.reference = each_row([](const std::vector<Vector>& rows) {
    const double cosine = bounded_cosine_of(rows);
    return RowResult{rows[2][0] > 0 ? 1 - cosine : hinge(cosine - 0.125), 1};
  });
  return reduced_as(result, reduction);
}

OpCase triplet_case(const ops::TripletOptions& options) {
  OpCase result = {.op = Op::kTripletMarginLoss,
                   .what = options.swap ? "of each row, swapped" : "of each row",
                   .inputs = {{distinct()}, {uniform(-2, 2)}, {uniform(-1, 3)}},
                   .shapes = {{{0, 3}, {0, 3}, {0, 3}},
                              {{1}, {1}, {1}},
                              {{7, 5}, {7, 5}, {7, 5}},
                              {{15, 2305}, {15, 2305}, {15, 2305}}},
                   .slope_terms = 8};
  result.run = [=](const Tensors& in) { return Tensors{ops::triplet_margin_loss({in[0], in[1], in[2]}, options)}; };
  result.reference = each_row([=](const std::vector<Vector>& rows) {
    const auto distance = [&](size_t a, size_t b) {
      return norm_of_vector(difference_of(rows[a], rows[b], options.epsilon), options.p);
    };
    const double near = distance(0, 1);
    const double far = options.swap ? std::min(distance(0, 2), distance(1, 2)) : distance(0, 2);
    return RowResult{hinge(near - far + options.margin), near + far + options.margin};
  });
  return reduced_as(result, options.reduction);
}

}  // namespace

std::vector<OpCase> distance_cases() {
  std::vector<OpCase> cases = cdist_cases();
  const auto add = [&](OpCase one) { cases.push_back(std::move(one)); };
  add(normalize_case("along the last dimension", 2, -1));
  add(normalize_case("along the first dimension, p = 1", 1, 0));
  add(cosine_case());
  add(of_one_number(cosine_case(), {{1}, {1}}));
  add(broadcast_cosine_case());
  add(pairwise_case("with p = 2", 2, 1e-6, distinct(), uniform(-2, 2)));
  add(pairwise_case("with p = 3 and a large epsilon", 3, 0.25, uniform(-2, 2), far_below()));
  add(kept_pairwise_case());
  for (const LossReduction reduction : {LossReduction::kMean, LossReduction::kSum, LossReduction::kNone}) {
    add(ranking_case(reduction));
    add(cosine_embedding_case(reduction));
    add(triplet_case({.reduction = reduction}));
  }
  add(of_one_number(cosine_embedding_case(LossReduction::kNone), {{1}, {1}, {}}));
  add(triplet_case({.margin = 0.5, .p = 3, .swap = true, .reduction = LossReduction::kNone}));
  return cases;
}

}  // namespace halftone
