// States of optimizers, scalers and averages that no run can produce: a load refuses them before anything changes.
#include "optim/state.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/formula/block_code.h"
#include "optim/adamw.h"
#include "optim/ema.h"
#include "optim/grad_scaler.h"
#include "optim/sgd.h"
#include "optim/shared_parameter.h"
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

TEST_F(OptimizerStateTest, F27_CountsOfUpdatesThatNoParameterHasAreRefused) {
  for (const int64_t count : {int64_t{-1}, int64_t{1}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(code_of_state("0.weight.updates", count), Code::kFormat) << count;
  }
  EXPECT_EQ(code_of_state("0.weight.updates", int64_t{0}), Code::kOk);
}

// Earlier versions counted steps by groups. Adam's bias correction would divide by a negative number, and take its
// root, if a group began after the last step.
TEST_F(OptimizerStateTest, ParametersOfAnEarlierVersionCountTheStepsOfTheirGroup) {
  const auto updates_of_group_since = [&](int64_t first_step) {
    StateDict earlier;
    const StateDict state = state_of(*optimizer_);
    for (const StateTensor& entry : state.tensors()) earlier.add(entry.name, entry.tensor);
    for (const NamedScalar& scalar : state.scalars()) {
      if (scalar.name == "step") earlier.add(scalar.name, int64_t{7});
      if (scalar.name != "step" && scalar.name != "0.weight.updates") earlier.add(scalar.name, scalar.value);
    }
    earlier.add("group.0.first_step", first_step);
    stage_state(*optimizer_, earlier)();
    return optimizer_->update_counts();
  };
  EXPECT_EQ(updates_of_group_since(2), std::vector<int64_t>{5});
  EXPECT_EQ(updates_of_group_since(7), std::vector<int64_t>{0});
  EXPECT_EQ(code_of([&] { updates_of_group_since(8); }), Code::kFormat);
}

TEST_F(OptimizerStateTest, F27_RatesThatNoStepCanTakeAreRefused) {
  for (double lr : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(code_of_state("group.0.lr", lr), Code::kFormat) << lr;
  }
}

TEST_F(OptimizerStateTest, TheMeanOfNormsIsLoadedAndAStateWithoutItBeginsAnew) {
  const StateDict without = state_of(*optimizer_);
  EXPECT_EQ(without.find_scalar("norm_guard.mean"), nullptr);
  optimizer_->gradients().set_mean_norm({.mean = 2.5, .count = 7});
  const StateDict with = state_of(*optimizer_);
  stage_state(*optimizer_, without)();
  EXPECT_EQ(optimizer_->gradients().mean_norm().count, 0);
  stage_state(*optimizer_, with)();
  EXPECT_EQ(optimizer_->gradients().mean_norm().mean, 2.5);
  EXPECT_EQ(optimizer_->gradients().mean_norm().count, 7);
  for (double mean : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(code_of_state("norm_guard.mean", mean), Code::kFormat) << mean;
  }
  EXPECT_EQ(code_of_state("norm_guard.count", int64_t{-1}), Code::kFormat);
}

TEST_F(OptimizerStateTest, F27_SettingsThatNoGroupHasAreRefused) {
  for (const char* fraction : {"group.0.beta1", "group.0.beta2"}) {
    for (double value : {-0.5, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
      EXPECT_EQ(code_of_state(fraction, value), Code::kFormat) << fraction << value;
    }
  }
  EXPECT_EQ(code_of_state("group.0.epsilon", 0.0), Code::kFormat);
  EXPECT_EQ(code_of_state("group.0.weight_decay", std::numeric_limits<double>::infinity()), Code::kFormat);
  EXPECT_EQ(code_of_state("group.0.beta1", int64_t{0}), Code::kFormat);
  EXPECT_EQ(code_of_state("group.0.beta1", 0.5), Code::kOk);
  EXPECT_EQ(optimizer_->group_numbers(0)[1].value, 0.5);
}

// A momentum that is switched on in the file alone has no moment in this optimizer.
TEST_F(OptimizerStateTest, F27_SettingsOfOtherMomentsAreRefused) {
  const Ref<Parameter> weight = make_ref<Parameter>("weight", tensor({2}, {1, 2}));
  const auto sgd = make_ref<Sgd>(
      ParameterGroup{.parameters = {{"weight", weight}}, .precision = {DType::kF32}},
      SgdGroup{.lr = 0.1, .momentum = 0, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0});
  const auto code_of_setting = [&](const char* name, double value) {
    const StateDict state = changed(state_of(*sgd), name, value);
    return code_of([&] { stage_state(*sgd, state)(); });
  };
  EXPECT_EQ(code_of_setting("group.0.momentum", 0.5), Code::kFormat);
  EXPECT_EQ(code_of_setting("group.0.nesterov", 0.5), Code::kFormat);
  EXPECT_EQ(sgd->group_settings(0).momentum, 0);
  EXPECT_EQ(code_of_setting("group.0.dampening", 0.5), Code::kOk);
  EXPECT_EQ(sgd->group_settings(0).dampening, 0.5);
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
  EXPECT_EQ(code_of_scaler("bound", -1.0), Code::kFormat);
  EXPECT_EQ(scaler.state().scale, 1024.0f);
  EXPECT_EQ(code_of_scaler("scale", 2.0), Code::kOk);
  EXPECT_EQ(scaler.state().scale, 2.0f);
}

TEST_F(OptimizerStateTest, AScalerFromBeforeItHadABoundLoads) {
  GradScaler scaler(device(), ScalerSettings{}, 1024.0f, true);
  StateDict former;
  former.add("scale", 2.0);
  former.add("growth_tracker", int64_t{1});
  former.add("hysteresis_left", int64_t{1});
  former.add("ceiling", 0.0);
  stage_state(scaler, former)();
  EXPECT_EQ(scaler.state().scale, 2.0f);
  EXPECT_EQ(scaler.state().bound, 0.0);
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

// Moments of the version before, whose codes were powers: c |c| / 127^2 and (c / 255)^4 of the scale.
class EarlierCodesTest : public RoomTest {
 protected:
  static constexpr int64_t kSize = kBlockSize + 40;

  Ref<Optimizer> make_optimizer(DType moment1, DType moment2, const Shard& shard = {0, kSize}) {
    const auto weight = make_ref<Parameter>("weight", full(device(), DType::kF32, {kSize}, 1.0));
    if (shard.end - shard.begin < kSize) share(weight, shard, make_ref<LoneRank>());
    return make_ref<AdamW>(ParameterGroup{.parameters = {{"weight", weight}},
                                          .precision = {.moment1_dtype = moment1, .moment2_dtype = moment2}},
                           AdamwGroup{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0});
  }
  // Every code that there is, and blocks with the scales 2 and 3.
  StateDict earlier_state() {
    const StateDict now = state_of(*make_optimizer(DType::kI8, DType::kU8));
    std::vector<double> first, second;
    for (int64_t i = 0; i < kSize; ++i) {
      first.push_back(static_cast<double>(i % 255 - 127));
      second.push_back(static_cast<double>(i % 256));
    }
    StateDict state;
    state.add("0.weight.moment1", converted(tensor({kSize}, first), DType::kI8));
    state.add("0.weight.moment1_scales", tensor({2}, {2, 3}));
    state.add("0.weight.moment2", converted(tensor({kSize}, second), DType::kU8));
    state.add("0.weight.moment2_scales", tensor({2}, {2, 3}));
    for (const NamedScalar& scalar : now.scalars()) {
      if (scalar.name != "moment_codes") state.add(scalar.name, scalar.value);
    }
    return state;
  }
  static double first_moment(int64_t i) {
    const double share = static_cast<double>(i % 255 - 127) / 127;
    return (i < kBlockSize ? 2 : 3) * share * std::fabs(share);
  }
  static double second_moment(int64_t i) {
    return (i < kBlockSize ? 2 : 3) * std::pow(static_cast<double>(i % 256) / 255, 4);
  }
};

TEST_F(EarlierCodesTest, BecomeTheNearestCodes) {
  const std::pair<Shard, bool> loads[] = {{{0, kSize}, true}, {{0, kSize}, false}, {{kBlockSize, kSize}, true}};
  for (const auto& [shard, strict] : loads) {
    const Ref<Optimizer> optimizer = make_optimizer(DType::kI8, DType::kU8, shard);
    stage_state(*optimizer, earlier_state(), {.strict = strict})();
    const StateDict loaded = state_of(*optimizer);
    const auto values_of = [&](const char* name) { return values(loaded.find(name)->tensor); };
    const std::vector<double> first = values_of("0.weight.moment1"), scales1 = values_of("0.weight.moment1_scales");
    const std::vector<double> second = values_of("0.weight.moment2"), scales2 = values_of("0.weight.moment2_scales");
    for (int64_t i = shard.begin; i < shard.end; ++i) {
      const auto at = static_cast<size_t>(i - shard.begin);
      const double wanted1 = first_moment(i), wanted2 = second_moment(i);
      EXPECT_NEAR(decode_signed(static_cast<int8_t>(first[at]), static_cast<float>(scales1[at / kBlockSize])), wanted1,
                  std::fabs(wanted1) / 8 + 1e-7);
      EXPECT_NEAR(decode_unsigned(static_cast<uint8_t>(second[at]), static_cast<float>(scales2[at / kBlockSize])),
                  wanted2, wanted2 / 4 + 1e-12);
    }
  }
}

TEST_F(EarlierCodesTest, AreReadByAnOptimizerThatKeepsMomentsInFp32) {
  const std::pair<Shard, bool> loads[] = {{{0, kSize}, true}, {{0, kSize}, false}, {{kBlockSize, kSize}, true}};
  for (const auto& [shard, strict] : loads) {
    const Ref<Optimizer> optimizer = make_optimizer(DType::kF32, DType::kF32, shard);
    stage_state(*optimizer, earlier_state(), {.strict = strict})();
    const StateDict loaded = state_of(*optimizer);
    const std::vector<double> first = values(loaded.find("0.weight.moment1")->tensor);
    const std::vector<double> second = values(loaded.find("0.weight.moment2")->tensor);
    for (int64_t i = shard.begin; i < shard.end; ++i) {
      const auto at = static_cast<size_t>(i - shard.begin);
      EXPECT_NEAR(first[at], first_moment(i), 1e-6) << strict;
      EXPECT_NEAR(second[at], second_moment(i), 1e-6) << strict;
    }
  }
}

// Codes of this version are decoded as such, and those of others are refused.
TEST_F(EarlierCodesTest, AreToldFromOthersByTheirVersion) {
  const Ref<Optimizer> saved = make_optimizer(DType::kI8, DType::kU8);
  stage_state(*saved, earlier_state())();
  const StateDict now = state_of(*saved);
  const Ref<Optimizer> same = make_optimizer(DType::kI8, DType::kU8), wide = make_optimizer(DType::kF32, DType::kF32);
  stage_state(*same, now)();
  stage_state(*wide, now)();
  for (const char* name : {"0.weight.moment1", "0.weight.moment2"}) {
    EXPECT_EQ(values(state_of(*same).find(name)->tensor), values(now.find(name)->tensor));
  }
  EXPECT_NEAR(values(state_of(*wide).find("0.weight.moment1")->tensor)[130], first_moment(130), first_moment(130) / 8);
  for (const int64_t version : {2, 4}) {
    EXPECT_EQ(code_of([&] { stage_state(*same, changed(now, "moment_codes", version)); }), Code::kFormat);
  }
}

// Ranks that share the update of a parameter each save their range of its moments, and load it from all of them.
class ShardedMomentsTest : public RoomTest {
 protected:
  static constexpr int64_t kSize = 5 * kBlockSize + 17;
  // The last rank has no elements.
  static constexpr Shard kShards[] = {{0, 2 * kBlockSize}, {2 * kBlockSize, kSize}, {kSize, kSize}};

  Ref<Optimizer> make_optimizer(const Shard& shard, int64_t min_8bit_size = 0) {
    const auto weight = make_ref<Parameter>("weight", full(device(), DType::kF32, {1, kSize}, 1.0));
    if (shard.end - shard.begin < kSize) share(weight, shard, make_ref<LoneRank>());
    const Precision precision = {
        .moment1_dtype = DType::kI8, .moment2_dtype = DType::kU8, .min_8bit_size = min_8bit_size};
    return make_ref<AdamW>(ParameterGroup{.parameters = {{"weight", weight}}, .precision = precision},
                           AdamwGroup{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0});
  }
  static void take_step(Optimizer& optimizer) {
    Parameter& weight = optimizer.parameters()[0].parameter();
    std::vector<float> gradient(static_cast<size_t>(kSize));
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i % 31) - 11;
    const Tensor whole = from_host(weight.device(), DType::kF32, weight.shape(), gradient.data());
    weight.accumulator().accumulate(whole);
    if (weight.is_sharded()) weight.placement().set_shard_grad(optim::range_of(whole, weight.placement().shard()));
    optimizer.step();
    optimizer.zero_grad();
  }
  static std::vector<double> range_of(const StateTensor& whole, const StateTensor& range) {
    const std::vector<double> all = values(whole.tensor);
    return {all.begin() + range.offset(), all.begin() + range.offset() + range.numel()};
  }
};

TEST_F(ShardedMomentsTest, AreRangesOfThoseOfTheWholeParameter) {
  const Ref<Optimizer> whole = make_optimizer({0, kSize});
  take_step(*whole);
  const StateDict expected = state_of(*whole);
  std::map<std::string, int64_t> ends;
  for (const Shard& shard : kShards) {
    const Ref<Optimizer> rank = make_optimizer(shard);
    take_step(*rank);
    const StateDict own = state_of(*rank);
    ASSERT_EQ(own.tensors().size(), 4u);
    EXPECT_EQ(*own.find_scalar("0.weight.updates"), *expected.find_scalar("0.weight.updates"));
    for (const StateTensor& entry : own.tensors()) {
      const StateTensor* all = expected.find(entry.name);
      ASSERT_NE(all, nullptr) << entry.name;
      EXPECT_EQ(entry.global_shape(), all->shape()) << entry.name;
      EXPECT_EQ(entry.offset(), ends[entry.name]) << entry.name;
      EXPECT_EQ(values(entry.tensor), range_of(*all, entry)) << entry.name;
      ends[entry.name] += entry.numel();
    }
  }
  for (const StateTensor& entry : expected.tensors()) EXPECT_EQ(ends[entry.name], entry.numel()) << entry.name;
}

TEST_F(ShardedMomentsTest, AreLoadedFromThoseOfTheWholeParameter) {
  const Ref<Optimizer> whole = make_optimizer({0, kSize});
  take_step(*whole);
  const StateDict saved = state_of(*whole);
  for (const Shard& shard : kShards) {
    const Ref<Optimizer> rank = make_optimizer(shard);
    stage_state(*rank, saved)();
    EXPECT_EQ(rank->step_count(), 1);
    EXPECT_EQ(rank->update_counts(), std::vector<int64_t>{1});
    const StateDict loaded = state_of(*rank);
    for (const StateTensor& entry : loaded.tensors()) {
      EXPECT_EQ(values(entry.tensor), range_of(*saved.find(entry.name), entry)) << entry.name;
    }
  }
  const Ref<Optimizer> first = make_optimizer(kShards[0]), second = make_optimizer(kShards[1]);
  EXPECT_EQ(code_of([&] { stage_state(*second, state_of(*first)); }), Code::kFormat) << "another rank's range";
}

// Saved before there was a least size of codes.
TEST_F(ShardedMomentsTest, CodesAreLoadedIntoFp32MomentsOfASmallParameter) {
  const Ref<Optimizer> whole = make_optimizer({0, kSize});
  take_step(*whole);
  const StateDict saved = state_of(*whole);
  const std::vector<double> codes = values(saved.find("0.weight.moment1")->tensor),
                            scales = values(saved.find("0.weight.moment1_scales")->tensor);
  for (const Shard& shard : kShards) {
    const Ref<Optimizer> rank = make_optimizer(shard, kSize + 1);
    stage_state(*rank, saved)();
    const StateDict loaded = state_of(*rank);
    EXPECT_EQ(loaded.find("0.weight.moment1_scales"), nullptr);
    const StateTensor& entry = *loaded.find("0.weight.moment1");
    ASSERT_EQ(entry.dtype(), DType::kF32);
    const std::vector<double> moments = values(entry.tensor);
    for (int64_t i = shard.begin; i < shard.end; ++i) {
      const auto at = static_cast<size_t>(i);
      EXPECT_EQ(moments[static_cast<size_t>(i - shard.begin)],
                decode_signed(static_cast<int8_t>(codes[at]), static_cast<float>(scales[at / kBlockSize])));
    }
  }
}

}  // namespace
}  // namespace halftone::optim
