#include "ops/dispatch/autocast.h"

#include "autograd/parameter.h"
#include "autograd/weights/weights.h"
#include "ops/ops.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class AutocastTest : public RoomTest {
 protected:
  AutocastPolicy policy_{DType::kBF16};
};

TEST_F(AutocastTest, EveryOperationHasARowAndAName) {
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    Op found;
    ASSERT_TRUE(find_op(name_of(op), &found)) << i;
    EXPECT_EQ(found, op);
    const AutocastClass row = policy_.get(op);
    EXPECT_TRUE(row >= AutocastClass::kLow && row <= AutocastClass::kAsIs) << name_of(op);
  }
  Op found;
  EXPECT_FALSE(find_op("no_such_operation", &found));
}

TEST_F(AutocastTest, AParameterEntersWithoutACastNode) {
  const Ref<Parameter> weight = make_ref<Parameter>("weight", tensor({1, 2}, {1, 2}));
  weight->weights().set_compute(converted(weight->weights().master(), DType::kBF16));
  const Tensor read = autocast_read(weight->leaf(), DType::kBF16);
  EXPECT_EQ(read.data(), weight->weights().compute().data());
  EXPECT_EQ(read.gradient_source().get(), &weight->accumulator());
}

TEST_F(AutocastTest, ACopyThatIsCurrentCountsNoBytes) {
  const Ref<Parameter> weight = make_ref<Parameter>("weight", tensor({1, 2}, {1, 2}));
  const ScopeGuard restore;
  scope().autocast = &policy_;
  autocast_read(weight->leaf(), DType::kBF16);
  EXPECT_EQ(policy_.cast_bytes().parameters, 4);
  weight->weights().set_compute(converted(weight->weights().master(), DType::kBF16));
  autocast_read(weight->leaf(), DType::kBF16);
  EXPECT_EQ(policy_.cast_bytes().parameters, 4);
  fill(weight->weights().master(), 5.0);
  autocast_read(weight->leaf(), DType::kBF16);
  EXPECT_EQ(policy_.cast_bytes().parameters, 8);
  EXPECT_EQ(policy_.cast_bytes().tensors, 0);
}

// Without its parameter, a leaf is cast as every tensor is, and the cast is recorded.
TEST_F(AutocastTest, ALeafWithoutItsParameterIsCast) {
  Ref<Parameter> weight = make_ref<Parameter>("weight", tensor({1, 2}, {1, 2}));
  const Tensor weights = weight->leaf();
  weight = nullptr;
  const ScopeGuard restore;
  scope().autocast = &policy_;
  const Tensor read = autocast_read(weights, DType::kBF16);
  EXPECT_NE(read.gradient_source(), weights.gradient_source());
  EXPECT_EQ(policy_.cast_bytes().tensors, 4);
  run_backward(ops::linear(tensor({1, 2}, {3, 4}), weights, Tensor()), Tensor(), false);
  EXPECT_EQ(grad(weights), (std::vector<double>{3, 4}));
}

// The frozen parameter's gradient is dropped; the result requires one, as it does outside autocast.
TEST_F(AutocastTest, ALeafFromBeforeAFreezeKeepsItsSource) {
  const Ref<Parameter> weight = make_ref<Parameter>("weight", tensor({1, 2}, {1, 2}));
  weight->weights().set_compute(converted(weight->weights().master(), DType::kBF16));
  const Tensor before = weight->leaf();
  weight->set_frozen(true);
  EXPECT_TRUE(requires_grad(autocast_read(before, DType::kBF16)));
  EXPECT_FALSE(requires_grad(autocast_read(weight->leaf(), DType::kBF16)));
}

TEST_F(AutocastTest, TheGradientOfALowPrecisionProductArrivesInTheMastersDtype) {
  const Ref<Parameter> weight = make_ref<Parameter>("weight", tensor({1, 2}, {1, 2}));
  const ScopeGuard restore;
  scope().autocast = &policy_;
  const Tensor y = ops::linear(tensor({1, 2}, {3, 4}), weight->leaf(), Tensor());
  EXPECT_EQ(y.dtype(), DType::kBF16);
  run_backward(y, Tensor(), false);
  EXPECT_EQ(weight->grad().dtype(), DType::kF32);
  EXPECT_EQ(values(weight->grad()), (std::vector<double>{3, 4}));
  EXPECT_EQ(scope().autocast, &policy_);
}

TEST_F(AutocastTest, LossesAnswerFp32AndReadLowPrecisionAsItIs) {
  const ScopeGuard restore;
  scope().autocast = &policy_;
  const Tensor logits = leaf({1, 2}, {1, 2}, DType::kBF16);
  const int64_t target = 0;
  const Tensor loss = ops::cross_entropy(logits, from_host(device(), DType::kI64, {1}, &target));
  EXPECT_EQ(loss.dtype(), DType::kF32);
  EXPECT_EQ(ops::sum(logits, {}, false).dtype(), DType::kF32);
  EXPECT_EQ(ops::relu(logits).dtype(), DType::kBF16);
  EXPECT_EQ(ops::add(logits, tensor({1, 2}, {1, 1})).dtype(), DType::kF32);
}

TEST_F(AutocastTest, AnOverriddenRowIsObeyed) {
  policy_.set(Op::kMatmul, AutocastClass::kAsIs);
  policy_.set(Op::kAdd, AutocastClass::kLow);
  policy_.set(Op::kSoftmax, AutocastClass::kLow);
  const ScopeGuard restore;
  scope().autocast = &policy_;
  const Tensor a = tensor({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(ops::matmul(a, a).dtype(), DType::kF32);
  EXPECT_EQ(ops::add(a, a).dtype(), DType::kBF16);
  EXPECT_EQ(ops::softmax(a, 0).dtype(), DType::kBF16);
}

TEST_F(AutocastTest, DoublesAndIntegersAreNeverTouched) {
  const ScopeGuard restore;
  scope().autocast = &policy_;
  const Tensor a = tensor({2, 2}, {1, 2, 3, 4}, DType::kF64);
  EXPECT_EQ(ops::matmul(a, a).dtype(), DType::kF64);
  EXPECT_EQ(ops::sum(tensor({2}, {1, 2}, DType::kI32), {}, false).dtype(), DType::kI64);
}

}  // namespace
}  // namespace halftone
