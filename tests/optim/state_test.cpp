// States of optimizers, scalers and averages that no run can produce: a load refuses them before anything changes.
#include "optim/state.h"

#include <cstdint>
#include <limits>
#include <string>

#include "optim/adamw.h"
#include "room_fixture.h"

namespace halftone::optim {
namespace {

// A copy of a state with one scalar replaced.
StateDict changed(const StateDict& state, const std::string& name, const StateScalar& value) {
  StateDict result;
  for (const StateTensor& entry : state.tensors()) result.add(entry.name, entry.tensor);
  for (const NamedScalar& scalar : state.scalars()) result.add(scalar.name, scalar.name == name ? value : scalar.value);
  return result;
}

class OptimizerStateTest : public RoomTest {
 protected:
  OptimizerStateTest() {
    const Ref<Parameter> weight = make_ref<Parameter>("weight", tensor({2}, {1, 2}));
    optimizer_ =
        make_ref<AdamW>(ParameterGroup{.parameters = {{"weight", weight}}, .precision = {DType::kF32}},
                        AdamwGroup{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0});
  }

  Code code_of_state(const std::string& name, const StateScalar& value) {
    const StateDict state = changed(state_of(*optimizer_), name, value);
    const Code code = code_of([&] { stage_state(*optimizer_, state)(); });
    if (code != Code::kOk) {
      EXPECT_EQ(optimizer_->step_count(), 0);
    }
    return code;
  }

  Ref<Optimizer> optimizer_;
};

// F27
TEST_F(OptimizerStateTest, F27_StepsThatCannotBeCountedOnAreRefused) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(code_of_state("step", kLargest), Code::kFormat);
  EXPECT_EQ(code_of_state("step", int64_t{-1}), Code::kFormat);
  EXPECT_EQ(code_of_state("step", 1.0), Code::kFormat);
  EXPECT_EQ(code_of_state("step", int64_t{1} << 40), Code::kOk);
  EXPECT_EQ(optimizer_->step_count(), int64_t{1} << 40);
}

// Adam's bias correction would divide by a negative number, and take its root.
TEST_F(OptimizerStateTest, F27_AGroupThatBeginsAfterTheLastStepIsRefused) {
  EXPECT_EQ(code_of_state("group.0.first_step", int64_t{1}), Code::kFormat);
  EXPECT_EQ(code_of_state("group.0.first_step", int64_t{0}), Code::kOk);
}

TEST_F(OptimizerStateTest, F27_RatesThatNoStepCanTakeAreRefused) {
  for (double lr : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(code_of_state("group.0.lr", lr), Code::kFormat) << lr;
  }
}

TEST_F(OptimizerStateTest, F27_ScalesAndCountsThatNoScalerHasAreRefused) {
  GradScaler scaler(device(), ScalerSettings{}, 1024.0f, true);
  const auto code_of_scaler = [&](const char* name, const StateScalar& value) {
    const StateDict state = changed(state_of(scaler), name, value);
    return code_of([&] { stage_state(scaler, state)(); });
  };
  for (double scale : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(code_of_scaler("scale", scale), Code::kFormat) << scale;
  }
  EXPECT_EQ(code_of_scaler("growth_tracker", std::numeric_limits<int64_t>::max()), Code::kFormat);
  EXPECT_EQ(code_of_scaler("ceiling", -1.0), Code::kFormat);
  EXPECT_EQ(scaler.state().scale, 1024.0f);
  EXPECT_EQ(code_of_scaler("scale", 2.0), Code::kOk);
  EXPECT_EQ(scaler.state().scale, 2.0f);
}

TEST_F(OptimizerStateTest, F27_CountsThatNoAverageHasAreRefused) {
  Ema ema({{"weight", make_ref<Parameter>("weight", tensor({2}, {1, 2}))}}, {.decay = 0.9, .warms_up = true});
  const auto code_of_ema = [&](const char* name, const StateScalar& value) {
    const StateDict state = changed(state_of(ema), name, value);
    return code_of([&] { stage_state(ema, state)(); });
  };
  EXPECT_EQ(code_of_ema("updates", std::numeric_limits<int64_t>::max()), Code::kFormat);
  EXPECT_EQ(code_of_ema("updates", int64_t{-1}), Code::kFormat);
  EXPECT_EQ(code_of_ema("parameters", int64_t{2}), Code::kFormat);
  EXPECT_EQ(ema.update_count(), 0);
  EXPECT_EQ(code_of_ema("updates", int64_t{7}), Code::kOk);
  EXPECT_EQ(ema.update_count(), 7);
}

}  // namespace
}  // namespace halftone::optim
