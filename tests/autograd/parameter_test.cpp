#include "autograd/parameter.h"

#include "ops/ops.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class ParameterTest : public RoomTest {
 protected:
  Ref<Parameter> parameter(const std::vector<double>& values) {
    return make_ref<Parameter>("weight", tensor({static_cast<int64_t>(values.size())}, values));
  }
};

TEST_F(ParameterTest, AllLeavesShareOneGradient) {
  const Ref<Parameter> weight = parameter({1, 2});
  run_backward(ops::sum(weight->leaf(), {}, false), Tensor(), false);
  run_backward(ops::sum(weight->leaf(), {}, false), Tensor(), false);
  EXPECT_EQ(values(weight->grad()), (std::vector<double>{2, 2}));
}

TEST_F(ParameterTest, ReadsTheCopyOnlyWhileItIsCurrent) {
  const Ref<Parameter> weight = parameter({1, 2});
  weight->set_compute(converted(weight->master(), DType::kBF16));
  EXPECT_EQ(weight->read(DType::kBF16).data(), weight->compute().data());
  fill(weight->master(), 5);
  const Tensor fresh = weight->read(DType::kBF16);
  EXPECT_NE(fresh.data(), weight->compute().data());
  EXPECT_EQ(values(fresh), (std::vector<double>{5, 5}));
}

TEST_F(ParameterTest, SplitsIntoBf16AndARemainderAndJoinsToTheBit) {
  const std::vector<double> exact = {0.3f, -0.7f, 1.0, 1e-30f, 0.0};
  const Ref<Parameter> weight = parameter(exact);
  weight->split();
  EXPECT_TRUE(weight->is_split());
  EXPECT_FALSE(weight->master().defined());
  EXPECT_EQ(weight->weights().dtype(), DType::kBF16);
  EXPECT_EQ(weight->remainder().dtype(), DType::kI16);
  EXPECT_EQ(values(weight->weights())[0], 0.30078125);
  EXPECT_EQ(values(weight->read(DType::kF32)), exact);
  EXPECT_EQ(values(weight->read(DType::kF64)), exact);
  weight->split();  // a second split changes nothing
  weight->join();
  EXPECT_FALSE(weight->is_split());
  EXPECT_EQ(values(weight->master()), exact);
  EXPECT_FALSE(weight->compute().defined());
  weight->join();
  EXPECT_EQ(values(weight->master()), exact);
}

TEST_F(ParameterTest, ARemainderCountsOnlyWhileItIsCurrent) {
  const Ref<Parameter> weight = parameter({0.3});
  weight->split();
  fill(weight->weights(), 2.0);
  EXPECT_EQ(values(weight->read(DType::kF32)), (std::vector<double>{2}));
  weight->drop_stale_remainder();
  EXPECT_EQ(values(weight->remainder()), (std::vector<double>{0}));
  EXPECT_EQ(values(weight->read(DType::kF32)), (std::vector<double>{2}));
}

TEST_F(ParameterTest, ALeafFromBeforeASplitIsStale) {
  const Ref<Parameter> weight = parameter({1, 2});
  for (const bool splits : {true, false}) {
    const Tensor leaf = weight->leaf();
    const Tensor y = ops::sum(ops::mul(leaf, leaf), {}, false);
    splits ? weight->split() : weight->join();
    EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kState);
    weight->zero_grad();
  }
}

TEST_F(ParameterTest, NarrowsToSixteenBitsWhateverItWas) {
  for (const bool splits : {false, true}) {
    for (const DType dtype : {DType::kBF16, DType::kF16}) {
      const Ref<Parameter> weight = parameter({0.3, -0.7});
      if (splits) weight->split();
      weight->narrow(dtype);
      EXPECT_FALSE(weight->is_split());
      EXPECT_FALSE(weight->compute().defined());
      EXPECT_EQ(weight->weights().dtype(), dtype);
      EXPECT_EQ(weight->leaf().data(), weight->master().data());
      EXPECT_EQ(values(weight->weights()), values(tensor({2}, {0.3f, -0.7f}, dtype)));
      const void* data = weight->weights().data();
      weight->narrow(dtype);
      EXPECT_EQ(weight->weights().data(), data);
    }
  }
}

TEST_F(ParameterTest, AFrozenOneHasNoSourceNoSinkAndNoGradient) {
  const Ref<Parameter> weight = parameter({1, 2});
  const Tensor before = weight->leaf();
  const Tensor y = ops::sum(before, {}, false);
  weight->allocate();
  weight->set_frozen(true);
  EXPECT_FALSE(requires_grad(weight->leaf()));
  run_backward(y, Tensor(), false);
  EXPECT_FALSE(weight->has_grad());
  weight->set_frozen(false);
  run_backward(ops::sum(weight->leaf(), {}, false), Tensor(), false);
  EXPECT_EQ(values(weight->grad()), (std::vector<double>{1, 1}));
}

TEST_F(ParameterTest, TheLeafOutlivesTheParameterHandle) {
  Ref<Parameter> weight = parameter({3});
  const Tensor leaf = weight->leaf();
  weight = nullptr;
  run_backward(ops::mul(leaf, leaf), Tensor(), false);
  EXPECT_EQ(grad(leaf), (std::vector<double>{6}));
}

TEST_F(ParameterTest, BelongsToOneOwnerAtATime) {
  const Ref<Parameter> weight = parameter({1});
  EXPECT_TRUE(weight->claim());
  EXPECT_FALSE(weight->claim());
  weight->unclaim();
  EXPECT_TRUE(weight->claim());
}

}  // namespace
}  // namespace halftone
