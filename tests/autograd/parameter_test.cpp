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
