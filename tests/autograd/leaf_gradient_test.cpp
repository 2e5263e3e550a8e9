// The one owner of a leaf's gradient: values in memory, brought by the caller, or a total, and what is known of them.
#include "autograd/leaf/leaf_gradient.h"

#include "room_fixture.h"

namespace halftone {
namespace {

class LeafGradientTest : public RoomTest {
 protected:
  Ref<AccumulateGrad> leaf() { return make_ref<AccumulateGrad>(device(), Shape{2}, DType::kF32); }
  Tensor pair(double value) { return tensor({2}, {value, value}); }
  static std::vector<double> both(double value) { return {value, value}; }
};

TEST_F(LeafGradientTest, ADeliveryIsAddedToABroughtGradientInTheLeafsMemory) {
  const Ref<AccumulateGrad> end = leaf();
  const Tensor brought = pair(7);
  end->bring_grad(brought);
  EXPECT_TRUE(end->gradient().is_brought());
  end->accumulate(pair(1));
  EXPECT_FALSE(end->gradient().is_brought());
  EXPECT_EQ(values(end->grad()), both(8));
  EXPECT_EQ(values(brought), both(7));
}

TEST_F(LeafGradientTest, ATotalIsShownUntilADeliveryAndKnownUntilItIsDropped) {
  const Ref<AccumulateGrad> end = leaf();
  end->gradient().bring_total(pair(7));
  EXPECT_TRUE(end->has_grad());
  EXPECT_FALSE(end->gradient().is_brought());
  EXPECT_EQ(values(end->grad()), both(7));
  end->accumulate(pair(1));
  EXPECT_EQ(values(end->grad()), both(1)) << "it is written, not added";
  EXPECT_TRUE(end->gradient().has_total());
  end->zero_grad();
  EXPECT_FALSE(end->gradient().has_total());
  EXPECT_FALSE(end->has_grad());
}

TEST_F(LeafGradientTest, ABroughtGradientReplacesATotal) {
  const Ref<AccumulateGrad> end = leaf();
  end->gradient().bring_total(pair(7));
  end->bring_grad(pair(3));
  EXPECT_FALSE(end->gradient().has_total());
  EXPECT_EQ(values(end->grad()), both(3));
}

TEST_F(LeafGradientTest, TheScaleAndTheRankOfATakenGradientLastUntilItIsDropped) {
  const Ref<AccumulateGrad> end = leaf();
  end->accumulate(pair(1));
  end->gradient().mark_scaled();
  end->gradient().set_not_finite_rank(3);
  end->gradient().mark_taken();
  EXPECT_FALSE(end->has_grad());
  EXPECT_TRUE(end->gradient().was_scaled());
  EXPECT_FALSE(end->gradient().has_scaled());
  EXPECT_EQ(end->gradient().not_finite_rank(), 3);
  end->zero_grad();
  EXPECT_FALSE(end->gradient().was_scaled());
  EXPECT_EQ(end->gradient().not_finite_rank(), -1);
}

TEST_F(LeafGradientTest, AnInvalidGradientStaysInvalidUntilItIsDroppedOrAnotherIsBrought) {
  const Ref<AccumulateGrad> end = leaf();
  end->bring_grad(pair(7));
  end->invalidate();
  EXPECT_FALSE(end->has_grad());
  EXPECT_TRUE(end->gradient().is_brought());
  end->accumulate(pair(1));
  EXPECT_TRUE(end->gradient().is_invalid());
  EXPECT_FALSE(end->has_grad());
  end->bring_grad(pair(3));
  EXPECT_EQ(values(end->grad()), both(3));
}

}  // namespace
}  // namespace halftone
