// The order of calls around a step: every call in every stage, two scalers, and the factor that a stage leaves.
#include "optim/step_order.h"

#include <optional>
#include <string>

#include "ops/ops.h"
#include "optim/grad_scaler.h"
#include "optim/sgd.h"
#include "room_fixture.h"

namespace halftone::optim {
namespace {

constexpr float kScale = 8;

class StepOrderTest : public RoomTest {
 protected:
  StepOrderTest() { give_gradient(); }

  // One gradient of 2 for a weight of 1; the learning rate is 0, so that only the order counts.
  void give_gradient() { run_backward(ops::sum(ops::rescale(weight_->leaf(), 2, 0), {}, false), Tensor(), false); }
  Ref<GradScaler> make_scaler() {
    return make_ref<GradScaler>(device(), ScalerSettings{.growth_factor = 1}, kScale, true);
  }
  StepStage stage() const { return optimizer_->gradients().order().stage(*scaler_); }

  // From a fresh round to the stage, by the calls that lead there.
  void go_to(StepStage stage) {
    if (scaler_->awaits_update()) scaler_->update();
    if (stage == StepStage::kReady) return;
    scaler_->unscale(*optimizer_);
    if (stage == StepStage::kBypassed) optimizer_->step();
    if (stage == StepStage::kStepped) scaler_->step(*optimizer_);
  }

  enum class Call { kUnscale, kScalerStep, kUpdate, kStep, kZeroGrad, kClip };
  void make(Call call) {
    switch (call) {
      case Call::kUnscale:
        return scaler_->unscale(*optimizer_);
      case Call::kScalerStep:
        return scaler_->step(*optimizer_);
      case Call::kUpdate:
        return scaler_->update();
      case Call::kStep:
        return optimizer_->step();
      case Call::kZeroGrad:
        optimizer_->zero_grad();
        return give_gradient();
      case Call::kClip:
        return optimizer_->gradients().clip_norm(1);
    }
  }

  // The message of the error that the call throws; empty if it throws none.
  std::string message_of(Call call) {
    try {
      make(call);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kState);
      return error.what();
    }
    return "";
  }

  Ref<Parameter> weight_ = make_ref<Parameter>("weight", tensor({1}, {1}));
  Ref<Sgd> optimizer_ =
      make_ref<Sgd>(ParameterGroup{.parameters = {{"weight", weight_}}, .precision = {}},
                    SgdGroup{.lr = 0, .momentum = 0, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0});
  Ref<GradScaler> scaler_ = make_scaler();
};

// A18
TEST_F(StepOrderTest, EveryCallInEveryStageMovesOrIsRefused) {
  using enum StepStage;
  struct Row {
    StepStage from;
    Call call;
    StepStage to;
    const char* refusal = "";
  };
  const Row rows[] = {
      {kReady, Call::kUnscale, kUnscaled},
      {kReady, Call::kScalerStep, kStepped},
      {kReady, Call::kUpdate, kReady, "no optimizer was unscaled or stepped"},
      {kReady, Call::kStep, kReady},
      {kReady, Call::kZeroGrad, kReady},
      {kReady, Call::kClip, kReady},
      {kUnscaled, Call::kUnscale, kUnscaled, "unscaled already"},
      {kUnscaled, Call::kScalerStep, kStepped},
      {kUnscaled, Call::kUpdate, kReady},
      {kUnscaled, Call::kStep, kBypassed},
      {kUnscaled, Call::kZeroGrad, kBypassed},
      {kUnscaled, Call::kClip, kUnscaled},
      {kBypassed, Call::kUnscale, kBypassed, "unscaled already"},
      {kBypassed, Call::kScalerStep, kBypassed, "stepped or zeroed on its own"},
      {kBypassed, Call::kUpdate, kReady},
      {kBypassed, Call::kStep, kBypassed},
      {kBypassed, Call::kZeroGrad, kBypassed},
      {kBypassed, Call::kClip, kBypassed},
      {kStepped, Call::kUnscale, kStepped, "stepped already since the last update; unscale"},
      {kStepped, Call::kScalerStep, kStepped, "stepped already since the last update; update"},
      {kStepped, Call::kUpdate, kReady},
      {kStepped, Call::kStep, kStepped},
      {kStepped, Call::kZeroGrad, kStepped},
      {kStepped, Call::kClip, kStepped},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(row.from) << " " << static_cast<int>(row.call));
    go_to(row.from);
    ASSERT_EQ(stage(), row.from);
    const std::string message = message_of(row.call);
    EXPECT_EQ(message.empty(), *row.refusal == '\0') << message;
    EXPECT_NE(message.find(row.refusal), std::string::npos) << message;
    EXPECT_EQ(stage(), row.to);
    EXPECT_EQ(optimizer_->gradients().order().is_unscaled(), row.to == kUnscaled);
    optimizer_->zero_grad();
    EXPECT_EQ(optimizer_->gradients().factor(), 1);  // in every stage, also after a clip
    give_gradient();
  }
}

TEST_F(StepOrderTest, AnUnscaleThatFailsLeavesTheOptimizerReady) {
  optimizer_->zero_grad();
  EXPECT_EQ(message_of(Call::kUnscale), "no parameter has a gradient; run backward first");
  EXPECT_EQ(stage(), StepStage::kReady);
  EXPECT_FALSE(scaler_->awaits_update());
}

TEST_F(StepOrderTest, AScalerTakesTheOptimizerOfAnother) {
  const Ref<GradScaler> other = make_scaler();
  scaler_->step(*optimizer_);
  other->step(*optimizer_);
  EXPECT_EQ(optimizer_->step_count(), 2);
  EXPECT_EQ(stage(), StepStage::kReady);
  other->update();
  other->unscale(*optimizer_);
  scaler_->update();  // it has stepped the optimizer, and what the other one has begun stays
  EXPECT_EQ(optimizer_->gradients().order().stage(*other), StepStage::kUnscaled);
  EXPECT_EQ(optimizer_->gradients().factor(), 1 / kScale);
}

TEST_F(StepOrderTest, AScalerThatIsDestroyedTakesItsFactorBack) {
  for (const StepStage stage : {StepStage::kUnscaled, StepStage::kBypassed, StepStage::kStepped}) {
    go_to(stage);
    scaler_ = make_scaler();
    EXPECT_EQ(optimizer_->gradients().factor(), 1);
    EXPECT_FALSE(optimizer_->gradients().order().is_unscaled());
    EXPECT_EQ(message_of(Call::kScalerStep), "");
  }
}

}  // namespace
}  // namespace halftone::optim
