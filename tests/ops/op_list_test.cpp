// Checks that the list of cases is complete: every operation has cases of every size, and a gradient or a reason for
// none.
#include <algorithm>

#include "no_gradient.h"
#include "op_call.h"
#include "ops/dispatch/autocast.h"
#include "room_fixture.h"

namespace halftone {
namespace {

bool any_shapes(Op op, const std::function<bool(const Shapes&)>& holds) {
  for (const OpCase* op_case : cases_of(op)) {
    if (std::any_of(op_case->shapes.begin(), op_case->shapes.end(), holds)) return true;
  }
  return false;
}

bool is_empty(const Shapes& shapes) {
  return std::any_of(shapes.begin(), shapes.end(), [](const Shape& shape) { return numel(shape) == 0; });
}
bool is_single(const Shapes& shapes) { return numel(shapes[0]) == 1; }
bool is_odd(const Shapes& shapes) { return numel(shapes[0]) > 1 && numel(shapes[0]) % 2 == 1; }

// The first shapes that have elements.
const Shapes& least_shapes(const OpCase& op_case) {
  return *std::find_if_not(op_case.shapes.begin(), op_case.shapes.end(), is_empty);
}

OpCall least_call(const OpCase& op_case, ContextDevice& device, DType dtype) {
  const Arrangement contiguous = {"contiguous", {Layout::kContiguous}};
  return {op_case, device, dtype, draw_inputs(op_case, dtype, least_shapes(op_case), contiguous), contiguous};
}

bool has_gradient(const OpCase& op_case, ContextDevice& device) {
  OpCall call = least_call(op_case, device, DType::kF64);
  call.require_gradients();
  const Tensors results = call.run();
  return std::any_of(results.begin(), results.end(), [](const Tensor& result) { return requires_grad(result); });
}

class OpList : public RoomTest {};

// Shows row A9 of tests/faults.md: op_values_test.cpp runs the cases with empty inputs, too.
TEST_F(OpList, HasCasesOfEverySizeForEveryOperation) {
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    ASSERT_FALSE(cases_of(op).empty()) << name_of(op) << " has no case in tests/ops/cases";
    EXPECT_TRUE(any_shapes(op, is_empty)) << name_of(op) << " has no case with an empty input";
    EXPECT_TRUE(any_shapes(op, is_large)) << name_of(op) << " has no case with more elements than two chunks";
    if (op == Op::kGlu) continue;  // takes an even number of elements alone
    EXPECT_TRUE(any_shapes(op, is_single)) << name_of(op) << " has no case with one element";
    EXPECT_TRUE(any_shapes(op, is_odd)) << name_of(op) << " has no case with an odd number of elements";
  }
}

TEST_F(OpList, HoldsAGradientForEveryOperationThatLeadsOne) {
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    const std::vector<const OpCase*> cases = cases_of(op);
    const bool is_held = std::any_of(cases.begin(), cases.end(), [&](const OpCase* op_case) {
      return op_case->has_gradient && has_gradient(*op_case, device());
    });
    EXPECT_EQ(is_held, leads_gradients(op)) << name_of(op) << " contradicts tests/ops/no_gradient.h";
  }
}

TEST_F(OpList, BroadcastsWhatTheOperationBroadcasts) {
  for (const Op op :
       {Op::kAdd,          Op::kSub,        Op::kMul,       Op::kDiv,        Op::kMaximum,     Op::kMinimum,
        Op::kPow,          Op::kEq,         Op::kNe,        Op::kLt,         Op::kLe,          Op::kGt,
        Op::kGe,           Op::kLogicalAnd, Op::kLogicalOr, Op::kWhere,      Op::kAddcmul,     Op::kMaskedFill,
        Op::kMaskedSelect, Op::kMatmul,     Op::kFmod,      Op::kRemainder,  Op::kFloorDivide, Op::kAtan2,
        Op::kLogaddexp,    Op::kLogicalXor, Op::kIsClose,   Op::kBitwiseAnd, Op::kBitwiseOr,   Op::kBitwiseXor,
        Op::kAddcdiv,      Op::kLerp,       Op::kLerpScalar}) {
    EXPECT_TRUE(any_shapes(op, [](const Shapes& shapes) { return !(shapes.front() == shapes.back()); }))
        << name_of(op) << " has no case with unlike shapes";
  }
}

// The compute dtype of an operation under a policy.
DType operand_dtype(Op op, DType own, const AutocastPolicy& policy) {
  if (!is_computing(op)) return own;
  switch (policy.get(op)) {
    case AutocastClass::kLow:
      return policy.dtype();
    case AutocastClass::kFp32:
      return DType::kF32;
    case AutocastClass::kWidest:
    case AutocastClass::kAsIs:
      return own;
  }
  return own;
}

TEST_F(OpList, FollowsTheAutocastRowOfEveryOperation) {
  const AutocastPolicy policy(DType::kBF16);
  for (const OpCase& op_case : op_cases()) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      SCOPED_TRACE(describe(op_case, dtype, least_shapes(op_case)));
      const OpCall call = least_call(op_case, device(), dtype);
      const ScopeGuard restore;
      scope().autocast = &policy;
      const Tensors results = call.run();
      for (size_t k = 0; k < results.size(); ++k) {
        const ResultDtype dtype_of_result = op_case.results[std::min(k, op_case.results.size() - 1)];
        const DType operand = k < op_case.autocast_results ? operand_dtype(op_case.op, dtype, policy) : dtype;
        EXPECT_EQ(name_of(results[k].dtype()), name_of(dtype_of_result(operand)));
      }
    }
  }
}

}  // namespace
}  // namespace halftone
