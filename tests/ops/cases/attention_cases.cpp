// Scaled dot-product attention against the plain form: all scores, a softmax, and a weighted sum. Rotary embedding.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calls.h"
#include "core/philox.h"
#include "ops/ops.h"
#include "room_fixture.h"
#include "runtime/context.h"

namespace halftone {

namespace {

constexpr uint64_t kSequence = 9;
constexpr int64_t kDropoutRow = 128;  // must match kAttentionDropoutRow
constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Sizes {
  explicit Sizes(const Arrays& in)
      : heads(from_end(in[0], 3)),
        kv_heads(from_end(in[1], 3)),
        queries(from_end(in[0], 2)),
        keys(from_end(in[1], 2)),
        depth(from_end(in[0], 1)),
        value_depth(from_end(in[2], 1)) {}
  static int64_t from_end(const Array& array, int back) { return array.shape[array.shape.rank() - back]; }

  int64_t heads, kv_heads, queries, keys, depth, value_depth;
};

// One row of the result: `row` counts all queries in row-major order.
class Row {
 public:
  Row(const Arrays& in, const ops::AttentionOptions& options, bool mask_is_added, int64_t row)
      : in_(in), sizes_(in), options_(options), mask_is_added_(mask_is_added), row_(row) {
    const int64_t head = row / sizes_.queries;
    kv_head_ = head / sizes_.heads * sizes_.kv_heads + head % sizes_.heads / (sizes_.heads / sizes_.kv_heads);
    for (int64_t j = 0; j < sizes_.keys; ++j) scores_.push_back(score(j));
    for (const double each : scores_) largest_ = std::max(largest_, each);
    for (const double each : scores_) sum_ += weight_of(each);
  }

  void append_to(Array& out, int64_t at) const {
    for (int64_t c = 0; c < sizes_.value_depth; ++c) {
      Sum sum;
      for (int64_t j = 0; j < sizes_.keys && sum_ > 0; ++j) {
        sum.add(weight_of(scores_[static_cast<size_t>(j)]) / sum_ * share_kept(j) *
                in_[2][(kv_head_ * sizes_.keys + j) * sizes_.value_depth + c]);
      }
      out[at + c] = sum.value();
      // An error of a score is a relative error of its weight and of the sum of weights.
      const double relative = 2 * score_slack_ + 4 * kFunctionError + 2 * static_cast<double>(sizes_.keys);
      out.slack.push_back(sum.slack_in_order() * (1 + relative));
      out.narrow_slack.push_back(sum.magnitude());
    }
  }

 private:
  double score(int64_t j) {
    const int64_t query = row_ % sizes_.queries;
    if (options_.is_causal && j > query + options_.causal_offset) return -kInfinite;
    Sum sum;
    for (int64_t p = 0; p < sizes_.depth; ++p) {
      sum.add(in_[0][row_ * sizes_.depth + p] * in_[1][(kv_head_ * sizes_.keys + j) * sizes_.depth + p]);
    }
    const double scale = options_.scale != 0 ? options_.scale : 1 / std::sqrt(static_cast<double>(sizes_.depth));
    score_slack_ = std::max(score_slack_, sum.slack_in_order() * std::fabs(scale) + 4);
    return masked(sum.value() * scale, j);
  }

  double masked(double value, int64_t j) const {
    if (in_.size() < 4) return value;
    Shape index = in_[0].shape;
    int64_t rest = row_;
    for (int d = index.rank() - 2; d >= 0; --d) {
      const int64_t size = index[d];
      index[d] = rest % size;
      rest /= size;
    }
    index[index.rank() - 1] = j;
    const double mask = in_[3][repeated_place_of(in_[3].shape, index)];
    if (mask_is_added_) return value + mask;
    return mask != 0 ? value : -kInfinite;
  }

  double weight_of(double score) const { return score == -kInfinite ? 0 : std::exp(score - largest_); }

  double share_kept(int64_t j) const {
    if (options_.dropout == 0) return 1;
    const int64_t element = row_ * ((sizes_.keys + kDropoutRow - 1) / kDropoutRow * kDropoutRow) + j;
    const PhiloxKey key = {.seed = kRoomSeed, .sequence = kSequence};
    const uint32_t word = philox(key, static_cast<uint64_t>(element / 4))[static_cast<size_t>(element % 4)];
    return static_cast<double>(word >> 8) * 0x1p-24 >= options_.dropout ? 1 / (1 - options_.dropout) : 0;
  }

  const Arrays& in_;
  Sizes sizes_;
  const ops::AttentionOptions& options_;
  bool mask_is_added_;
  int64_t row_;
  int64_t kv_head_ = 0;
  std::vector<double> scores_;
  double largest_ = -kInfinite;
  double sum_ = 0;
  double score_slack_ = 0;
};

Arrays attention_of(const Arrays& in, const ops::AttentionOptions& options, bool mask_is_added) {
  const Sizes sizes(in);
  Shape shape = in[0].shape;
  shape[shape.rank() - 1] = sizes.value_depth;
  Array out(shape);
  for (int64_t row = 0; row < out.size() / std::max<int64_t>(sizes.value_depth, 1); ++row) {
    Row(in, options, mask_is_added, row).append_to(out, row * sizes.value_depth);
  }
  return {out};
}

// Dropout uses the same random sequence in every call.
Tensor attend(const Tensors& in, const ops::AttentionOptions& options) {
  in[0].device().context->set_generator(in[0].device().context->seed(), kSequence);
  return ops::scaled_dot_product_attention(in[0], in[1], in[2], in.size() > 3 ? in[3] : Tensor(), options);
}

OpCase attention_case(const char* what, const ops::AttentionOptions& options, std::vector<Shapes> shapes,
                      const OpInput* mask = nullptr) {
  const bool mask_is_added = mask != nullptr && mask->dtype != DType::kBool && mask->dtype != DType::kU8;
  OpCase result = {.op = Op::kScaledDotProductAttention,
                   .what = what,
                   .inputs = {{uniform(-2, 2)}, {uniform(-2, 2)}, {uniform(-1, 1)}},
                   .shapes = std::move(shapes),
                   .run = [=](const Tensors& in) { return Tensors{attend(in, options)}; },
                   .reference = [=](const Arrays& in) { return attention_of(in, options, mask_is_added); },
                   // The output, which backward reads, is rounded, and terms that cancel are larger than the slope.
                   .gradient_roundings = 40,
                   .slope_terms = 16};
  if (mask != nullptr) result.inputs.push_back(*mask);
  return result;
}

// Every third key is hidden, and with `row` the whole row of that number.
Draw hidden_keys(double shown, double hidden, int64_t row) {
  return [=](std::mt19937&, const Shapes& shapes, int64_t i) {
    const Shape& shape = shapes[3];
    const int64_t keys = shape[shape.rank() - 1];
    return i % keys % 3 == 1 || i / keys == row ? hidden : shown + 0.125 * static_cast<double>(i % 4);
  };
}

// Repeats an operand along dimensions before rows and depth that are missing or 1.
Array repeated(const Array& array, const Shape& leading) {
  Shape shape = leading;
  for (int back = 2; back > 0; --back) shape.push_back(Sizes::from_end(array, back));
  Array out(shape);
  int64_t i = 0;
  for_each_index(shape, [&](const Shape& index) { out[i++] = array[repeated_place_of(array.shape, index)]; });
  return out;
}

// Batches that differ: [a, 1] of q, [1, b] of k, and none of v.
OpCase broadcast_case() {
  OpCase result = attention_case("of batches that broadcast", {},
                                 {{{3, 1, 2, 4, 5}, {2, 2, 6, 5}, {1, 6, 3}}, {{2, 5, 3}, {4, 1, 7, 3}, {1, 7, 2}}});
  result.reference = [](const Arrays& in) {
    const auto batch = [](const Array& array) { return Shape(array.shape.begin(), array.shape.rank() - 3); };
    Shape leading = joined(joined(batch(in[0]), batch(in[1])), batch(in[2]));
    const int64_t heads = Sizes::from_end(in[0], 3);
    leading.push_back(heads);
    return attention_of({repeated(in[0], leading), repeated(in[1], leading), repeated(in[2], leading)}, {}, false);
  };
  return result;
}

// Pair i of a row is turned by its position times base^(-i / pairs). Positions, if there are any, come first.
Arrays rotated(const Arrays& in, const Rotary& rotary) {
  const Array& x = in.back();
  const bool has_positions = in.size() > 1;
  Array out(x.shape);
  out.slack.resize(out.values.size());
  const int rank = x.shape.rank();
  const int64_t pairs = x.shape[rank - 1] / 2;
  int64_t row = 0;
  for_each_index(Shape(x.shape.begin(), rank - 1), [&](const Shape& index) {
    const double position = has_positions ? in[0][repeated_place_of(in[0].shape, index)]
                                          : static_cast<double>(rotary.offset + index[rank - 2]);
    for (int64_t i = 0; i < pairs; ++i) {
      const double angle = position * std::pow(rotary.base, -static_cast<double>(i) / static_cast<double>(pairs));
      const int64_t a = row * 2 * pairs + (rotary.is_interleaved ? 2 * i : i);
      const int64_t b = rotary.is_interleaved ? a + 1 : a + pairs;
      out[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
      out[b] = x[b] * std::cos(angle) + x[a] * std::sin(angle);
      const double slack = kFunctionError * (std::fabs(x[a]) + std::fabs(x[b]));
      for (const int64_t place : {a, b}) out.slack[static_cast<size_t>(place)] = slack;
    }
    ++row;
  });
  return {out};
}

OpCase rotary_case(const char* what, const Rotary& rotary, std::vector<Shapes> shapes) {
  OpCase result = {.op = Op::kRotaryEmbedding,
                   .what = what,
                   .inputs = {{uniform(-2, 2)}},
                   .shapes = std::move(shapes),
                   .run = [=](const Tensors& in) -> Tensors {
                     return {ops::rotary_embedding(in.back(), in.size() > 1 ? in[0] : Tensor(), rotary)};
                   },
                   .reference = [=](const Arrays& in) { return rotated(in, rotary); },
                   .slope_terms = 2};
  const Draw any = [](std::mt19937& random, const Shapes&, int64_t) { return static_cast<double>(random() % 4096); };
  if (result.shapes[0].size() > 1) result.inputs.insert(result.inputs.begin(), {any, DType::kI64});
  return result;
}

}  // namespace

std::vector<OpCase> attention_cases() {
  const OpInput bools = {coin(), DType::kBool};
  const OpInput bytes = {hidden_keys(2, 0, 1), DType::kU8};
  const OpInput added = {hidden_keys(-1, -kInfinite, 2), DType::kF32};
  const OpInput learned = {hidden_keys(-1, -kInfinite, 2)};  // of the run's dtype: it gets a gradient
  std::vector<OpCase> cases = {
      attention_case("", {},
                     {{{0, 2, 3, 5}, {0, 2, 4, 5}, {0, 2, 4, 3}},
                      {{2, 0, 5}, {2, 4, 5}, {2, 4, 3}},
                      {{2, 3, 5}, {2, 0, 5}, {2, 0, 3}},
                      {{2, 3, 5}, {2, 4, 5}, {2, 4, 0}},
                      {{1, 1, 1}, {1, 2, 1}, {1, 2, 1}},
                      {{3, 1, 5}, {3, 7, 5}, {3, 7, 3}},
                      {{1, 3, 2, 17, 9}, {1, 3, 2, 21, 9}, {1, 3, 2, 21, 33}},
                      {{2, 100, 8}, {2, 259, 8}, {2, 259, 17}},
                      {{3, 361, 37}, {3, 65, 37}, {3, 65, 5}}}),
      attention_case("with a scale", {.scale = 0.25}, {{{2, 5, 7}, {2, 6, 7}, {2, 6, 4}}}),
      attention_case("of groups", {.is_causal = true},
                     {{{2, 6, 5, 3}, {2, 2, 5, 3}, {2, 2, 5, 4}}, {{4, 109, 5}, {1, 140, 5}, {1, 140, 3}}}),
      attention_case("causal", {.is_causal = true},
                     {{{2, 5, 3}, {2, 5, 3}, {2, 5, 2}},
                      {{1, 9, 5}, {1, 4, 5}, {1, 4, 5}},
                      {{1, 205, 4}, {1, 300, 4}, {1, 300, 3}}}),
      attention_case("causal after keys of a cache", {.is_causal = true, .causal_offset = 4},
                     {{{2, 3, 4}, {2, 7, 4}, {2, 7, 3}}, {{1, 1, 4}, {1, 5, 4}, {1, 5, 8}}}),
      attention_case("causal before the first key", {.is_causal = true, .causal_offset = -2},
                     {{{2, 5, 4}, {2, 7, 4}, {2, 7, 3}}}),
      attention_case("with a bool mask", {},
                     {{{2, 3, 4}, {2, 5, 4}, {2, 5, 3}, {2, 3, 5}},
                      {{2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 3}, {2, 1, 1, 5}},
                      {{1, 7, 4}, {1, 130, 4}, {1, 130, 3}, {7, 1}}},
                     &bools),
      attention_case("with a u8 mask that hides a row", {}, {{{1, 3, 4}, {1, 5, 4}, {1, 5, 3}, {1, 3, 5}}}, &bytes),
      attention_case("with an added mask", {.is_causal = true},
                     {{{2, 5, 4}, {2, 8, 4}, {2, 8, 3}, {5, 8}}, {{1, 100, 4}, {1, 260, 4}, {1, 260, 3}, {100, 260}}},
                     &added),
      attention_case("with dropout", {.dropout = 0.3},
                     {{{2, 5, 4}, {2, 8, 4}, {2, 8, 3}}, {{2, 2, 100, 4}, {2, 1, 260, 4}, {2, 1, 260, 3}}}),
      attention_case("with a mask that has a gradient", {},
                     {{{0, 2, 3, 5}, {0, 2, 4, 5}, {0, 2, 4, 3}, {3, 4}},
                      {{2, 3, 5}, {2, 0, 5}, {2, 0, 3}, {2, 3, 1}},
                      {{2, 2, 5, 4}, {2, 2, 8, 4}, {2, 2, 8, 3}, {1, 2, 5, 8}},
                      {{2, 2, 5, 4}, {2, 2, 8, 4}, {2, 2, 8, 3}, {2, 1, 8}},
                      {{2, 2, 5, 4}, {2, 2, 8, 4}, {2, 2, 8, 3}, {2, 1, 5, 8}},
                      {{2, 3, 2, 4, 5}, {2, 3, 1, 6, 5}, {2, 3, 1, 6, 3}, {3, 1, 4, 6}},
                      {{2, 205, 4}, {2, 300, 4}, {2, 300, 3}, {205, 300}},
                      {{2, 205, 4}, {2, 300, 4}, {2, 300, 3}, {300}},
                      {{1, 205, 4}, {1, 300, 4}, {1, 300, 3}, {205, 300}}},
                     &learned),
      attention_case("causal, of groups, with a mask that has a gradient", {.is_causal = true, .causal_offset = 2},
                     {{{2, 4, 5, 4}, {2, 2, 8, 4}, {2, 2, 8, 3}, {5, 8}},
                      {{2, 4, 5, 4}, {2, 2, 8, 4}, {2, 2, 8, 3}, {4, 1, 8}},
                      {{1, 2, 205, 4}, {1, 1, 300, 4}, {1, 1, 300, 3}, {205, 300}}},
                     &learned),
      attention_case("with dropout and a mask that has a gradient", {.scale = -0.25, .dropout = 0.3},
                     {{{2, 2, 5, 4}, {2, 1, 8, 4}, {2, 1, 8, 3}, {5, 8}},
                      {{2, 2, 100, 4}, {2, 1, 260, 4}, {2, 1, 260, 3}, {2, 1, 1, 260}}},
                     &learned),
  };
  // The weight of a single key is 1, so q and k get a gradient of 0, whose noise has no slope to be compared with.
  OpCase single = attention_case("of a single key", {.scale = -3},
                                 {{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, {{2, 3, 5}, {2, 1, 5}, {2, 1, 3}}});
  single.has_gradient = false;
  cases.push_back(single);
  cases.push_back(broadcast_case());
  cases.push_back(rotary_case("in halves", {}, {{{0, 3, 4}}, {{2, 5, 0}}, {{3, 2}}, {{2, 3, 5, 6}}, {{3, 51, 258}}}));
  cases.push_back(rotary_case("interleaved", {.base = 500, .is_interleaved = true, .offset = 1000},
                              {{{1, 2}}, {{2, 3, 5, 6}}, {{7, 130}}}));
  cases.push_back(
      rotary_case("at positions", {},
                  {{{1}, {1, 2}}, {{3}, {2, 3, 4}}, {{2, 1, 5}, {2, 3, 5, 6}}, {{2, 3}, {2, 3, 2}}, {{}, {3, 5, 4}}}));
  return cases;
}

}  // namespace halftone
