#include "optim/optimizer.h"

#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "optim/adafactor.h"
#include "optim/adamw.h"
#include "optim/lion.h"
#include "optim/rmsprop.h"
#include "optim/sgd.h"
#include "optim/shared_parameter.h"
#include "representations.h"
#include "room_fixture.h"

namespace halftone::optim {
namespace {

class OptimizerTest : public RoomTest {
 protected:
  static constexpr AdamwGroup kAdamw = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0};
  static constexpr AdafactorGroup kAdafactor = {
      .lr = 0.1, .beta2_decay = -0.8, .epsilon1 = 1e-7, .epsilon2 = 1e-3, .clip_threshold = 1, .weight_decay = 0};
  // With momentum and centered: three moments.
  static constexpr RmspropGroup kRmsprop = {
      .lr = 0.1, .alpha = 0.9, .epsilon = 1e-3, .weight_decay = 0, .momentum = 0.9, .centered = 1, .reserved = 0};
  static constexpr SgdGroup kSgd = {
      .lr = 0.5, .momentum = 0, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0};

  Ref<Parameter> parameter(const char* name, const std::vector<double>& values) {
    return make_ref<Parameter>(name, tensor({static_cast<int64_t>(values.size())}, values));
  }
  static ParameterGroup group(const std::vector<Ref<Parameter>>& parameters, const Precision& precision) {
    ParameterGroup result{.parameters = {}, .precision = precision};
    for (const Ref<Parameter>& parameter : parameters) result.parameters.push_back({parameter->name(), parameter});
    return result;
  }
  static void give_gradient(const Ref<Parameter>& parameter, double factor) {
    run_backward(ops::sum(ops::rescale(parameter->leaf(), factor, 0), {}, false), Tensor(), false);
  }

  // Everything about a parameter that a failure must not change.
  struct Look {
    explicit Look(const Parameter& parameter)
        : weights(values(parameter.weights().read(DType::kF32))),
          grad(values(parameter.grad())),
          dtype(parameter.weights().tensor().dtype()),
          grad_dtype(parameter.grad().dtype()),
          address(parameter.weights().tensor().data()) {}
    bool operator==(const Look&) const = default;

    std::vector<double> weights, grad;
    DType dtype, grad_dtype;
    const void* address;
  };
  static std::vector<Look> look_at(const std::vector<Ref<Parameter>>& parameters) {
    std::vector<Look> looks;
    for (const Ref<Parameter>& parameter : parameters) looks.emplace_back(*parameter);
    return looks;
  }

  static constexpr int64_t kPage = 4096;

  // A parameter whose first gradient comes late, behind a skipped step, moves as one that is alone in an optimizer.
  template <class Rule>
  void expect_own_count(const typename Rule::Group& settings) {
    const Ref<Parameter> early = parameter("early", {1}), late = parameter("late", {1, 2}),
                         alone = parameter("a", {1, 2});
    GroupedOptimizer<Rule> both(group({early, late}, {}), settings), one(group({alone}, {}), settings);
    both.gradients().set_guard(GradientGuard::kSkip);
    const auto step = [&](double gradient, bool has_late) {
      both.zero_grad();
      give_gradient(early, gradient);
      if (has_late) give_gradient(late, gradient);
      both.step();
    };
    for (int i = 0; i < 20; ++i) step(1, false);
    step(std::numeric_limits<double>::infinity(), true);
    EXPECT_EQ(both.update_counts(), (std::vector<int64_t>{20, 0}));
    for (double gradient : {1.0, -3.0, 0.5}) {
      step(gradient, true);
      one.zero_grad();
      give_gradient(alone, gradient);
      one.step();
    }
    EXPECT_EQ(values(late->weights().master()), values(alone->weights().master())) << Rule::kName;
    EXPECT_EQ(both.update_counts(), (std::vector<int64_t>{23, 3}));
  }

  // Allocates all memory that the device can still provide, except `pages` pages.
  std::vector<Tensor> all_memory_but(int pages) {
    device().allocator->set_limit(device().allocator->stats().reserved);
    std::vector<Tensor> hoard;
    while (code_of([&] { hoard.push_back(empty(device(), DType::kU8, {kPage})); }) == Code::kOk) continue;
    hoard.resize(hoard.size() - static_cast<size_t>(pages));
    return hoard;
  }

  // Makes an optimizer with the given storage, or adds a group with it, with one more page of memory in each trial.
  // Returns the number of trials that failed; each of them must leave the parameters unchanged.
  template <class Rule>
  int failures_until_owned(const typename Rule::Group& settings, const Precision& form, bool starts_split,
                           bool is_added) {
    constexpr int64_t kCount = 3 * kPage / 4;
    std::vector<Ref<Parameter>> weights;
    for (const char* name : {"first", "second", "third"}) {
      weights.push_back(parameter(name, std::vector<double>(kCount, 1.001f)));
      give_gradient(weights.back(), 0.3);
      if (starts_split) split(weights.back()->weights());
    }
    GroupedOptimizer<Rule> other(group({parameter("other", {1})}, {DType::kF32}), settings);
    const std::vector<Look> before = look_at(weights);
    for (int failures = 0;; ++failures) {
      std::vector<Tensor> hoard = all_memory_but(failures);
      const Code code = code_of([&] {
        if (is_added) return other.add_group(group(weights, form), settings);
        GroupedOptimizer<Rule>(group(weights, form), settings);
      });
      hoard.clear();
      device().allocator->set_limit(0);
      if (code == Code::kOk) return failures;
      EXPECT_EQ(code, Code::kOutOfMemory);
      EXPECT_TRUE(look_at(weights) == before);
      const AdamW whole(group(weights, {starts_split ? DType::kBF16 : DType::kF32, DType::kF32, DType::kF32,
                                        starts_split ? Master::kSplit : Master::kFull}),
                        kAdamw);
      if (testing::Test::HasFailure()) return failures;
    }
  }
};

TEST_F(OptimizerTest, TheUpdateWritesMasterAndCopyInOnePass) {
  const Ref<Parameter> weight = parameter("weight", {1.0, -2.0, 0.3});
  Sgd optimizer(group({weight}, {DType::kBF16}), kSgd);
  give_gradient(weight, 0.01);
  optimizer.step();
  EXPECT_EQ(weight->weights().read(DType::kBF16).data(), weight->weights().compute().data());
  EXPECT_EQ(values(weight->weights().compute()), values(converted(weight->weights().master(), DType::kBF16)));
  EXPECT_NEAR(values(weight->weights().master())[0], 0.995, 1e-7);
}

TEST_F(OptimizerTest, ParametersWithoutAGradientStay) {
  const Ref<Parameter> used = parameter("used", {1});
  const Ref<Parameter> unused = parameter("unused", {1});
  Sgd optimizer(group({used, unused}, {DType::kF32}), kSgd);
  EXPECT_EQ(code_of([&] { optimizer.step(); }), Code::kState);
  give_gradient(used, 1);
  optimizer.step();
  EXPECT_EQ(values(used->weights().master()), (std::vector<double>{0.5}));
  EXPECT_EQ(values(unused->weights().master()), (std::vector<double>{1}));
  give_gradient(unused, 1);
  optimizer.step();
  EXPECT_EQ(values(unused->weights().master()), (std::vector<double>{0.5}));
}

// M7
TEST_F(OptimizerTest, InvalidGradientsAreRefusedUntilZeroGrad) {
  const Ref<Parameter> weight = parameter("weight", {1});
  Sgd optimizer(group({weight}, {DType::kF32}), kSgd);
  give_gradient(weight, 1);
  weight->accumulator().invalidate();
  EXPECT_EQ(code_of([&] { optimizer.step(); }), Code::kState);
  EXPECT_EQ(values(weight->weights().master()), (std::vector<double>{1}));
  optimizer.zero_grad();
  give_gradient(weight, 1);
  optimizer.step();
  EXPECT_EQ(values(weight->weights().master()), (std::vector<double>{0.5}));
}

TEST_F(OptimizerTest, AStepBetweenForwardAndBackwardIsNoticed) {
  const Ref<Parameter> weight = parameter("weight", {1, 2});
  Sgd optimizer(group({weight}, {DType::kBF16}), kSgd);
  give_gradient(weight, 1);
  const Tensor leaf = weight->leaf();
  const Tensor y = ops::sum(ops::mul(leaf, leaf), {}, false);
  optimizer.step();
  EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kState);
}

TEST_F(OptimizerTest, AnotherOptimizerMayFollowWhenTheFirstIsGone) {
  const Ref<Parameter> weight = parameter("weight", {1});
  {
    const AdamW first(group({weight}, {DType::kBF16}), kAdamw);
    EXPECT_EQ(code_of([&] { Sgd(group({weight}, {DType::kF32}), kSgd); }), Code::kState);
    EXPECT_TRUE(weight->weights().compute().defined());
  }
  EXPECT_FALSE(weight->weights().compute().defined());
  const Sgd second(group({weight}, {DType::kF32}), kSgd);
}

// M8
TEST_F(OptimizerTest, AFailedCreationFreesTheParameters) {
  const Ref<Parameter> weight = parameter("weight", {1});
  EXPECT_EQ(code_of([&] { AdamW(group({weight, weight}, {DType::kF32}), kAdamw); }), Code::kState);
  EXPECT_TRUE(weight->owner().claim());
}

constexpr Precision kForms[] = {{DType::kBF16, DType::kF32, DType::kF32, Master::kNone},
                                {DType::kF16, DType::kF32, DType::kF32, Master::kNone},
                                {DType::kBF16, DType::kF32, DType::kF32, Master::kSplit},
                                {DType::kBF16, DType::kF32, DType::kF32, Master::kFull},
                                {DType::kF32, DType::kBF16, DType::kF32, Master::kFull},
                                {DType::kBF16, DType::kBF16, DType::kBF16, Master::kNone}};

// M8: memory runs out at every possible point while an optimizer is made or a group is added.
TEST_F(OptimizerTest, WithoutMemoryForAGroupWeightsAndGradientsStayToTheBit) {
  for (const Precision& form : kForms) {
    for (const bool starts_split : {false, true}) {
      for (const bool is_added : {false, true}) {
        SCOPED_TRACE(testing::Message() << name_of(form.compute_dtype) << " master " << static_cast<int>(form.master)
                                        << " split " << starts_split << " added " << is_added);
        EXPECT_GE(failures_until_owned<AdamWRule>(kAdamw, form, starts_split, is_added), 4);
        EXPECT_GE(failures_until_owned<AdafactorRule>(kAdafactor, form, starts_split, is_added), 4);
        EXPECT_GE(failures_until_owned<RmspropRule>(kRmsprop, form, starts_split, is_added), 4);
      }
    }
  }
}

TEST_F(OptimizerTest, GradNormLooksWithoutChangingAnything) {
  const Ref<Parameter> weight = parameter("weight", {1, 1});
  Sgd optimizer(group({weight}, {DType::kF32}), kSgd);
  give_gradient(weight, 3);
  EXPECT_NEAR(optimizer.gradients().norm(), 3 * std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(optimizer.gradients().norm(), 3 * std::sqrt(2.0), 1e-6);
  EXPECT_EQ(optimizer.step_count(), 0);
  EXPECT_EQ(values(weight->weights().master()), (std::vector<double>{1, 1}));
}

TEST_F(OptimizerTest, AdafactorRefusesAParameterThatRanksShare) {
  const Ref<Parameter> weight = make_ref<Parameter>("weight", full(device(), DType::kF32, {4, kBlockSize}, 1.0));
  share(weight, {.begin = kBlockSize, .end = 2 * kBlockSize}, make_ref<LoneRank>());
  const auto attempt = [&] { Adafactor(group({weight}, {DType::kF32}), kAdafactor); };
  EXPECT_EQ(code_of(attempt), Code::kUnsupported);
  try {
    attempt();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("parameter weight"), std::string::npos) << error.what();
  }
  const AdamW other(group({weight}, {DType::kF32}), kAdamw);  // the parameter is free
}

constexpr Precision kSplit = {DType::kBF16, DType::kBF16, DType::kBF16, Master::kSplit};

TEST_F(OptimizerTest, SplitWeightsReadAsTheyDidAndAreUpdatedAsMastersAre) {
  const std::vector<double> start = {1.0, -2.0, 0.3, 1e-3};
  const Ref<Parameter> whole = parameter("whole", start), split = parameter("split", start);
  const std::vector<double> before = values(split->weights().master());
  AdamW first(group({whole}, {DType::kBF16, DType::kBF16, DType::kBF16, Master::kFull}), kAdamw);
  AdamW second(group({split}, kSplit), kAdamw);
  EXPECT_FALSE(split->weights().master().defined());
  EXPECT_EQ(values(split->weights().read(DType::kF32)), before);
  for (int step = 0; step < 5; ++step) {
    for (const auto& [weight, optimizer] : {std::pair(whole, &first), std::pair(split, &second)}) {
      optimizer->zero_grad();
      give_gradient(weight, 0.1 * step - 0.2);
      optimizer->step();
    }
  }
  EXPECT_EQ(values(split->weights().read(DType::kF32)), values(whole->weights().master()));
  EXPECT_EQ(split->leaf().dtype(), DType::kBF16);
  EXPECT_EQ(split->leaf().data(), split->weights().compute().data());
}

TEST_F(OptimizerTest, WeightsStaySplitUntilAnOptimizerTakesThemWhole) {
  const Ref<Parameter> weight = parameter("weight", {0.3, -0.7});
  const std::vector<double> before = values(weight->weights().master());
  { const Sgd first(group({weight}, kSplit), kSgd); }
  EXPECT_TRUE(weight->weights().is_split());
  { const Sgd second(group({weight}, kSplit), kSgd); }
  EXPECT_EQ(values(weight->weights().read(DType::kF32)), before);
  const Sgd third(group({weight}, {DType::kF32}), kSgd);
  EXPECT_FALSE(weight->weights().is_split());
  EXPECT_FALSE(weight->weights().compute().defined());
  EXPECT_EQ(values(weight->weights().master()), before);
}

TEST_F(OptimizerTest, ARemainderIsDroppedWhereSomebodyElseWroteTheWeights) {
  const Ref<Parameter> weight = parameter("weight", {0.3, -0.7});
  Sgd optimizer(group({weight}, kSplit), kSgd);
  fill(weight->leaf(), 2.0);
  EXPECT_EQ(values(weight->weights().read(DType::kF32)), (std::vector<double>{2, 2}));
  give_gradient(weight, 0.25);
  optimizer.step();
  EXPECT_EQ(values(weight->weights().read(DType::kF32)), (std::vector<double>{1.875, 1.875}));
}

TEST_F(OptimizerTest, AGraphOverTheMasterIsNoticedWhenItIsSplit) {
  const Ref<Parameter> weight = parameter("weight", {1, 2});
  const Tensor leaf = weight->leaf();
  const Tensor y = ops::sum(ops::mul(leaf, leaf), {}, false);
  const Sgd optimizer(group({weight}, kSplit), kSgd);
  EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kState);
}

TEST_F(OptimizerTest, AGradientThatIsThereIsConverted) {
  const Ref<Parameter> weight = parameter("weight", {1, 2});
  give_gradient(weight, 0.3);
  Sgd optimizer(group({weight}, {DType::kBF16, DType::kBF16}), kSgd);
  EXPECT_EQ(weight->grad().dtype(), DType::kBF16);
  EXPECT_EQ(values(weight->grad()), (std::vector<double>{0.30078125, 0.30078125}));
  give_gradient(weight, 0.3);
  EXPECT_EQ(weight->grad().dtype(), DType::kBF16);
  EXPECT_EQ(values(weight->grad()), (std::vector<double>{0.6015625, 0.6015625}));
}

TEST_F(OptimizerTest, AParameterWhoseFirstGradientIsLateCountsItsOwnUpdates) {
  expect_own_count<AdamWRule>(kAdamw);
  expect_own_count<AdamRule>(kAdamw);
  expect_own_count<AdafactorRule>(kAdafactor);
  expect_own_count<RmspropRule>(kRmsprop);
  expect_own_count<LionRule>({.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0});
  // The first momentum of SGD is the gradient itself, without dampening.
  expect_own_count<SgdRule>(
      {.lr = 0.1, .momentum = 0.9, .dampening = 0.5, .weight_decay = 0, .nesterov = 0, .reserved = 0});
}

}  // namespace
}  // namespace halftone::optim
