// Gradients whose memory zero_grad releases, so that they are elsewhere in the next step. The optimizer's lists follow
// them.
#include <memory>
#include <string>

#include "autograd/weights/weights.h"
#include "ops/ops.h"
#include "optim/adamw.h"
#include "room_fixture.h"

namespace halftone::optim {
namespace {

constexpr int64_t kElements = 3000;  // more than a page

class MovedGradientsTest : public RoomTest {
 protected:
  static constexpr AdamwGroup kSettings = {
      .lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01};

  // Parameters and their optimizer.
  struct Training {
    std::vector<Ref<Parameter>> parameters;
    std::unique_ptr<AdamW> optimizer;
  };
  Training make_training(const Precision& precision) {
    Training made;
    ParameterGroup group{.parameters = {}, .precision = precision};
    for (int i = 0; i < 3; ++i) {
      const std::string name = "weight" + std::to_string(i);
      made.parameters.push_back(make_ref<Parameter>(name, full(device(), DType::kF32, {kElements}, 0.5 + i)));
      group.parameters.push_back({name, made.parameters.back()});
    }
    made.optimizer = std::make_unique<AdamW>(group, kSettings);
    return made;
  }
  static void backward(const Training& training, int step) {
    for (size_t i = 0; i < training.parameters.size(); ++i) {
      const double factor = 0.1 * (step + 1) - 0.15 * static_cast<double>(i);
      run_backward(ops::sum(ops::rescale(training.parameters[i]->leaf(), factor, 0), {}, false), Tensor(), false);
    }
  }
  static std::vector<std::vector<double>> weights_of(const Training& training) {
    std::vector<std::vector<double>> weights;
    for (const Ref<Parameter>& parameter : training.parameters)
      weights.push_back(values(parameter->weights().read(DType::kF32)));
    return weights;
  }
  // Tensors in the places of the released gradients, so that the next ones are elsewhere.
  std::vector<Tensor> take_places(size_t count) {
    std::vector<Tensor> taken;
    for (size_t i = 0; i < count; ++i) taken.push_back(full(device(), DType::kF32, {kElements}, 1e6));
    return taken;
  }
  int64_t requests() { return device().allocator->stats().allocations; }
  int64_t gradient_bytes() { return device().allocator->stats().by_category[static_cast<int>(Category::kGradients)]; }
};

TEST_F(MovedGradientsTest, AStepAfterZeroGradReadsThemWhereTheyAre) {
  const Precision precisions[] = {{DType::kF32}, {DType::kBF16, DType::kBF16, DType::kBF16, Master::kSplit}};
  for (const Precision& precision : precisions) {
    const Training still = make_training(precision), moved = make_training(precision);
    std::vector<const void*> before;
    for (int step = 0; step < 4; ++step) {
      still.optimizer->zero_grad();
      backward(still, step);
      still.optimizer->step();
      moved.optimizer->zero_grad();
      const std::vector<Tensor> others = take_places(step % 2 == 0 ? 0 : 3);
      backward(moved, step);
      std::vector<const void*> places;
      for (const Ref<Parameter>& parameter : moved.parameters) places.push_back(parameter->grad().data());
      EXPECT_NE(places, before) << step;
      before = places;
      EXPECT_EQ(moved.optimizer->gradients().norm(), still.optimizer->gradients().norm());
      moved.optimizer->step();
    }
    EXPECT_EQ(weights_of(moved), weights_of(still));
  }
}

// The lists are changed in place: a step that repeats asks for no memory.
TEST_F(MovedGradientsTest, AStepAllocatesNothingForThem) {
  const Training training = make_training({DType::kF32});
  for (int step = 0; step < 4; ++step) {
    training.optimizer->zero_grad();
    const std::vector<Tensor> others = take_places(step % 2 == 0 ? 0 : 3);
    backward(training, step);
    const int64_t before = requests();
    training.optimizer->step();
    if (step > 0) {
      EXPECT_EQ(requests(), before) << step;
    }
  }
}

TEST_F(MovedGradientsTest, AnotherDtypeIsFollowedToo) {
  const Training training = make_training({DType::kF32});
  const Training expected = make_training({DType::kF32});
  for (int step = 0; step < 2; ++step) {
    for (const Training* one : {&training, &expected}) {
      one->optimizer->zero_grad();
      backward(*one, 0);  // 0.1 rounds to BF16, 0.25 does not
      const DType dtype = step == 1 && one == &training ? DType::kBF16 : DType::kF32;
      one->parameters[0]->accumulator().bring_grad(full(device(), dtype, {kElements}, 0.25));
      one->optimizer->step();
    }
  }
  EXPECT_EQ(weights_of(training), weights_of(expected));
}

TEST_F(MovedGradientsTest, AnOptimizerAllocatesNoneAndZeroGradLeavesNone) {
  const Training training = make_training({DType::kBF16});
  EXPECT_EQ(gradient_bytes(), 0);
  for (int step = 0; step < 2; ++step) {
    backward(training, step);
    EXPECT_EQ(gradient_bytes(), 3 * 4 * kElements);
    training.optimizer->step();
    EXPECT_EQ(gradient_bytes(), 3 * 4 * kElements) << "a second step uses them again";
    training.optimizer->zero_grad();
    EXPECT_EQ(gradient_bytes(), 0);
    EXPECT_EQ(code_of([&] { training.optimizer->step(); }), Code::kState) << "there is no gradient";
  }
}

TEST_F(MovedGradientsTest, AParameterWithoutAGradientAfterZeroGradStays) {
  const Training training = make_training({DType::kF32});
  backward(training, 0);
  training.optimizer->step();
  const std::vector<std::vector<double>> before = weights_of(training);
  training.optimizer->zero_grad();
  run_backward(ops::sum(training.parameters[1]->leaf(), {}, false), Tensor(), false);
  training.optimizer->step();
  const std::vector<std::vector<double>> after = weights_of(training);
  EXPECT_EQ(after[0], before[0]);
  EXPECT_NE(after[1], before[1]);
  EXPECT_EQ(after[2], before[2]);
}

TEST_F(MovedGradientsTest, SeveralBackwardsOfAStepAreAdded) {
  const Training training = make_training({DType::kF32});
  for (int step = 0; step < 2; ++step) {
    training.optimizer->zero_grad();
    backward(training, 0);
    const void* const place = training.parameters[0]->grad().data();
    backward(training, 0);
    EXPECT_EQ(training.parameters[0]->grad().data(), place);
    EXPECT_EQ(values(training.parameters[0]->grad()), std::vector<double>(kElements, 0.1f + 0.1f));
    training.optimizer->step();
  }
}

}  // namespace
}  // namespace halftone::optim
