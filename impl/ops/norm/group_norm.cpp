#include <algorithm>
#include <cinttypes>

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/norm/affine.h"
#include "ops/norm/norms.h"
#include "ops/norm/row_norm.h"

namespace halftone::ops {

namespace {

struct GroupOperands {
  const Tensor& input;  // [n, channels, ...]
  const Tensor& weight;
  const Tensor& bias;
};

Tensor normalize_groups(Op op, const GroupOperands& operands, int64_t groups, double epsilon) {
  const auto& [input, weight, bias] = operands;
  const int64_t channels = input.size(1);
  require_affine(input, weight, "weight", {channels});
  require_affine(input, bias, "bias", {channels});
  int64_t spatial = 1;
  for (int i = 2; i < input.rank(); ++i) spatial *= input.size(i);
  return apply_row_norm(op, {.epsilon = epsilon, .rows = input.size(0) * groups, .groups = groups, .spatial = spatial},
                        {.input = input, .weight = weight, .bias = bias}, channels);
}

void require_channels(const Tensor& input) {
  require_float(input, "input");
  if (input.rank() >= 2) return;
  fail(Code::kShapeMismatch, "input", "input %s has %d dimensions, expected [n, channels, ...]",
       ShapeText(input.shape()).text, input.rank());
}

void require_groups(const Tensor& input, int64_t groups) {
  require_channels(input);
  if (groups < 1) fail(Code::kInvalidArgument, "groups", "groups=%" PRId64 ", expected at least 1", groups);
  if (input.size(1) % groups == 0) return;
  fail(Code::kShapeMismatch, "groups", "groups=%" PRId64 " does not divide input.shape[1]=%" PRId64, groups,
       input.size(1));
}

}  // namespace

Tensor group_norm(const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias, double epsilon) {
  require_groups(input, groups);
  return normalize_groups(Op::kGroupNorm, {input, weight, bias}, groups, epsilon);
}

// Each channel is a group of its own; an input without channels is one empty group.
Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, double epsilon) {
  require_channels(input);
  return normalize_groups(Op::kInstanceNorm, {input, weight, bias}, std::max<int64_t>(1, input.size(1)), epsilon);
}

}  // namespace halftone::ops
