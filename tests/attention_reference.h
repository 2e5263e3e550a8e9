// Attention beside the cases of the operations: a case, its tensors, and the plain form in double with the errors that
// may come from weights and slopes that are rounded between the products. For tests of kernels of any device. Used from
// one thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/kernels/attention.h"
#include "core/philox.h"
#include "host_tensor.h"
#include "tolerance.h"

namespace halftone {

inline constexpr double kAttentionInfinity = std::numeric_limits<double>::infinity();

enum class MaskKind { kNone, kAdded, kBool };

struct AttentionCase {
  const char* name;
  int64_t batch, heads, kv_heads, queries, keys, depth, value_depth;
  bool is_causal = false;
  int64_t causal_offset = 0;
  MaskKind mask = MaskKind::kNone;
  double dropout = 0;
  bool is_by_rows = false;  // memory is [batch, rows, heads, depth]
  double scale = 0.2;
};

inline Shape strides_of(const AttentionCase& c, int64_t heads, int64_t rows, int64_t columns) {
  if (!c.is_by_rows) return contiguous_strides({c.batch, heads, rows, columns});
  return {rows * heads * columns, columns, heads * columns, 1};
}

// The tensors in this order.
enum AttentionPart { kQ, kK, kV, kMask, kOutput, kLogSums, kGradOutput, kGradQ, kGradK, kGradV, kParts };

inline std::vector<HostTensor> tensors_of(const AttentionCase& c, DType dtype) {
  const auto make = [&](int64_t heads, int64_t rows, int64_t columns) {
    return HostTensor(dtype, {c.batch, heads, rows, columns}, strides_of(c, heads, rows, columns));
  };
  HostTensor mask(c.mask == MaskKind::kBool ? DType::kBool : DType::kF32, {c.batch, c.heads, c.queries, c.keys});
  for (int64_t i = 0; i < mask.numel(); ++i) {
    const bool hides = i % 3 == 1 || i / c.keys == 1;  // row 1 sees no key
    mask.set(i, c.mask == MaskKind::kBool ? !hides : hides ? -kAttentionInfinity : 0.25 * static_cast<double>(i % 5));
  }
  std::vector<HostTensor> tensors = {
      make(c.heads, c.queries, c.depth),       make(c.kv_heads, c.keys, c.depth),
      make(c.kv_heads, c.keys, c.value_depth), mask,
      make(c.heads, c.queries, c.value_depth), HostTensor(DType::kF32, {c.batch, c.heads, c.queries}),
      make(c.heads, c.queries, c.value_depth), make(c.heads, c.queries, c.depth),
      make(c.kv_heads, c.keys, c.depth),       make(c.kv_heads, c.keys, c.value_depth)};
  for (const AttentionPart part : {kQ, kK, kV, kGradOutput}) tensors[part].fill_uniform(-1, 1, 17 + part);
  return tensors;
}

inline AttentionArgs args_of(const AttentionCase& c, const std::vector<View>& v) {
  AttentionArgs args = {.q = v[kQ], .k = v[kK], .v = v[kV], .mask = {}, .settings = {}};
  if (c.mask != MaskKind::kNone) args.mask = v[kMask];
  args.settings.scale = c.scale;
  args.settings.is_causal = c.is_causal;
  args.settings.causal_offset = c.causal_offset;
  if (c.dropout > 0) {
    args.settings.dropout = {.key = {.seed = 3, .sequence = 5}, .p = c.dropout, .scale = 1 / (1 - c.dropout)};
  }
  return args;
}

// Values and the errors that rounding of weights and slopes to `dtype` may cause.
struct AttentionExpected {
  std::vector<double> values, slack;
  explicit AttentionExpected(const HostTensor& like)
      : values(static_cast<size_t>(like.numel())), slack(static_cast<size_t>(like.numel())) {}
  void add(int64_t i, double value, double error) {
    values[static_cast<size_t>(i)] += value;
    slack[static_cast<size_t>(i)] += error;
  }
};

// The plain form in double. Gradients use the output as it was rounded.
class AttentionReference {
 public:
  AttentionReference(const AttentionCase& c, const std::vector<HostTensor>& tensors, DType dtype)
      : output(tensors[kOutput]),
        log_sums(tensors[kLogSums]),
        grad_q(tensors[kQ]),
        grad_k(tensors[kK]),
        grad_v(tensors[kV]),
        c_(c),
        step_(half_step(dtype).relative) {
    for (const HostTensor& tensor : tensors) {
      std::vector<double> values;
      for (int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.get(i));
      in_.push_back(std::move(values));
    }
    for (int64_t row = 0; row < c.batch * c.heads * c.queries; ++row) add_row(row);
  }

  AttentionExpected output, log_sums, grad_q, grad_k, grad_v;

 private:
  double at(AttentionPart part, int64_t i) const { return in_[part][static_cast<size_t>(i)]; }
  double dot(AttentionPart a, int64_t row_a, AttentionPart b, int64_t row_b, int64_t depth) const {
    double sum = 0;
    for (int64_t d = 0; d < depth; ++d) sum += at(a, row_a * depth + d) * at(b, row_b * depth + d);
    return sum;
  }
  double score(int64_t row, int64_t kv_row, int64_t key) const {
    if (c_.is_causal && key > row % c_.queries + c_.causal_offset) return -kAttentionInfinity;
    const double score = dot(kQ, row, kK, kv_row, c_.depth) * c_.scale;
    if (c_.mask == MaskKind::kNone) return score;
    const double mask = at(kMask, row * c_.keys + key);
    if (c_.mask == MaskKind::kAdded) return score + mask;
    return mask != 0 ? score : -kAttentionInfinity;
  }
  double factor(int64_t row, int64_t key) const {
    if (c_.dropout == 0) return 1;
    const int64_t element = row * ((c_.keys + 127) / 128 * 128) + key;
    const uint32_t word =
        philox({.seed = 3, .sequence = 5}, static_cast<uint64_t>(element / 4))[static_cast<size_t>(element % 4)];
    return static_cast<double>(word >> 8) * 0x1p-24 >= c_.dropout ? 1 / (1 - c_.dropout) : 0;
  }

  void add_row(int64_t row) {
    const int64_t head = row / c_.queries % c_.heads;
    const int64_t batch = row / c_.queries / c_.heads;
    const int64_t kv_first = (batch * c_.kv_heads + head / (c_.heads / c_.kv_heads)) * c_.keys;
    std::vector<double> scores;
    for (int64_t j = 0; j < c_.keys; ++j) scores.push_back(score(row, kv_first + j, j));
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const double each : scores) sum += largest == -kAttentionInfinity ? 0 : std::exp(each - largest);
    log_sums.add(row, sum == 0 ? kAttentionInfinity : largest + std::log(sum), 0);
    if (sum == 0) return;
    for (int64_t j = 0; j < c_.keys; ++j) {
      const double weight = std::exp(scores[static_cast<size_t>(j)] - largest) / sum;
      add_output(row, kv_first + j, weight * factor(row, j));
    }
    double product = 0, magnitude = 0;  // D, and what the output's rounding may add to it
    for (int64_t d = 0; d < c_.value_depth; ++d) {
      const double term = at(kGradOutput, row * c_.value_depth + d) * at(kOutput, row * c_.value_depth + d);
      product += term;
      magnitude += std::fabs(term);
    }
    for (int64_t j = 0; j < c_.keys; ++j) {
      const double weight = std::exp(scores[static_cast<size_t>(j)] - largest) / sum;
      if (weight > 0) add_gradients(row, kv_first + j, weight, factor(row, j), product, magnitude);
    }
  }
  void add_output(int64_t row, int64_t kv_row, double weight) {
    for (int64_t d = 0; d < c_.value_depth; ++d) {
      const double term = weight * at(kV, kv_row * c_.value_depth + d);
      output.add(row * c_.value_depth + d, term, step_ * std::fabs(term));
    }
  }
  void add_gradients(int64_t row, int64_t kv_row, double weight, double factor, double product, double magnitude) {
    const double slope = weight * (factor * dot(kGradOutput, row, kV, kv_row, c_.value_depth) - product);
    const double error = step_ * (std::fabs(slope) + weight * magnitude);
    for (int64_t d = 0; d < c_.depth; ++d) {
      const double q = c_.scale * at(kQ, row * c_.depth + d);
      const double k = c_.scale * at(kK, kv_row * c_.depth + d);
      grad_q.add(row * c_.depth + d, slope * k, error * std::fabs(k));
      grad_k.add(kv_row * c_.depth + d, slope * q, error * std::fabs(q));
    }
    for (int64_t d = 0; d < c_.value_depth; ++d) {
      const double term = weight * factor * at(kGradOutput, row * c_.value_depth + d);
      grad_v.add(kv_row * c_.value_depth + d, term, step_ * std::fabs(term));
    }
  }

  const AttentionCase& c_;
  double step_;
  std::vector<std::vector<double>> in_;
};

inline void expect_attention(const HostTensor& actual, const AttentionExpected& expected, const char* what) {
  EXPECT_TRUE(actual.guards_hold()) << what;
  for (int64_t i = 0; i < actual.numel(); ++i) {
    const double wanted = expected.values[static_cast<size_t>(i)];
    // FP32 sums and the device's exponential, beside the roundings.
    const double slack = 1.5 * expected.slack[static_cast<size_t>(i)] + 2e-5 * (1 + std::fabs(wanted));
    const double rounding = half_step(actual.view().dtype).relative * (std::fabs(wanted) + slack);
    const bool is_right =
        std::isinf(wanted) ? actual.get(i) == wanted : std::fabs(actual.get(i) - wanted) <= slack + rounding;
    ASSERT_TRUE(is_right) << what << " " << i << " is " << actual.get(i) << ", not " << wanted << " +- " << slack;
  }
}

// Compares all results of forward and backward.
inline void expect_attention(const AttentionCase& c, const std::vector<HostTensor>& tensors, DType dtype) {
  const AttentionReference reference(c, tensors, dtype);
  expect_attention(tensors[kLogSums], reference.log_sums, "log sum");
  expect_attention(tensors[kOutput], reference.output, "output");
  expect_attention(tensors[kGradQ], reference.grad_q, "gradient of q");
  expect_attention(tensors[kGradK], reference.grad_k, "gradient of k");
  expect_attention(tensors[kGradV], reference.grad_v, "gradient of v");
}

}  // namespace halftone
