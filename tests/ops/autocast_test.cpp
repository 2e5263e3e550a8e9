#include "ops/dispatch/autocast.h"

#include "autograd/parameter.h"
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
  weight->set_compute(converted(weight->master(), DType::kBF16));
  const Tensor read = autocast_read(weight->leaf(), DType::kBF16);
  EXPECT_EQ(read.data(), weight->compute().data());
  EXPECT_EQ(read.gradient_source().get(), weight.get());
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
