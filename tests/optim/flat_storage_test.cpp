// Parameters that are ranges of one flat buffer, as sharding keeps them.
#include <cmath>

#include "autograd/weights/representation.h"
#include "optim/adamw.h"
#include "room_fixture.h"

namespace halftone::optim {
namespace {

constexpr int64_t kSize = 256;

class FlatStorageTest : public RoomTest {
 protected:
  static Precision precision(Master master) {
    return {.compute_dtype = DType::kBF16, .grad_dtype = DType::kBF16, .master = master};
  }
  static std::vector<double> exact_weights() {
    std::vector<double> weights(kSize);
    for (int64_t i = 0; i < kSize; ++i) weights[static_cast<size_t>(i)] = static_cast<float>(1.0 + i * 1.234567e-5);
    return weights;
  }
  // The BF16 halves of two split parameters in one buffer.
  std::vector<Ref<Parameter>> split_parameters() {
    const Tensor buffer = empty(device(), DType::kBF16, {2 * kSize}, Category::kParameters);
    std::vector<Ref<Parameter>> made;
    for (int64_t k = 0; k < 2; ++k) {
      made.push_back(make_ref<Parameter>(k == 0 ? "a" : "b", tensor({kSize}, exact_weights())));
      WeightRepresentation split = split_representation(made.back()->weights());
      const Tensor part = buffer.as_strided({kSize}, {1}, k * kSize);
      copy(split.kept, part);
      split.kept = part;
      made.back()->weights().install(split);
    }
    return made;
  }
  // FP32 masters in one buffer.
  std::vector<Ref<Parameter>> full_parameters() {
    const Tensor buffer = empty(device(), DType::kF32, {2 * kSize}, Category::kParameters);
    std::vector<Ref<Parameter>> made;
    for (int64_t k = 0; k < 2; ++k) {
      const Tensor part = buffer.as_strided({kSize}, {1}, k * kSize);
      copy(tensor({kSize}, exact_weights()), part);
      made.push_back(make_ref<Parameter>(k == 0 ? "a" : "b", part));
    }
    return made;
  }
  Tensor gradient() { return full(device(), DType::kBF16, {kSize}, 0.5); }
  static ParameterGroup group(const std::vector<Ref<Parameter>>& parameters, Master master) {
    ParameterGroup result{.parameters = {}, .precision = precision(master)};
    for (const Ref<Parameter>& parameter : parameters) result.parameters.push_back({parameter->name(), parameter});
    return result;
  }
  static constexpr AdamwGroup kSettings = {
      .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0};
};

TEST_F(FlatStorageTest, AStepOfOneSplitParameterLeavesTheOthersRemainderValid) {
  const auto parameters = split_parameters();
  AdamW optimizer(group(parameters, Master::kSplit), kSettings);
  parameters[0]->accumulator().accumulate(gradient());
  optimizer.step();
  EXPECT_EQ(values(parameters[1]->weights().read(DType::kF32)), exact_weights());

  parameters[0]->zero_grad();
  parameters[1]->accumulator().accumulate(gradient());
  optimizer.step();
  const std::vector<double> updated = values(parameters[1]->weights().read(DType::kF32));
  const std::vector<double> before = exact_weights();
  for (size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(before[i] - updated[i], 7.5e-4, 1e-3) << i;
  // Equal gradients, so equal updates but for the rounding of FP32.
  for (size_t i = 1; i < before.size(); ++i) {
    ASSERT_NEAR(updated[i] - before[i], updated[0] - before[0], 2.5e-7) << i;
  }
}

TEST_F(FlatStorageTest, AStepOfOneParameterLeavesTheOthersCopyCurrent) {
  const auto parameters = full_parameters();
  AdamW optimizer(group(parameters, Master::kFull), kSettings);
  parameters[0]->accumulator().accumulate(gradient());
  optimizer.step();
  EXPECT_EQ(parameters[1]->weights().read(DType::kBF16).data(), parameters[1]->weights().compute().data());
  EXPECT_EQ(parameters[0]->weights().read(DType::kBF16).data(), parameters[0]->weights().compute().data());
}

TEST_F(FlatStorageTest, AWriteToTheWholeBufferMakesEveryCopyStale) {
  const auto parameters = full_parameters();
  AdamW optimizer(group(parameters, Master::kFull), kSettings);
  const Tensor whole(parameters[0]->weights().master().storage(), DType::kF32, {2 * kSize}, {1}, 0);
  fill(whole, 3.0);
  for (const auto& parameter : parameters) {
    EXPECT_NE(parameter->weights().read(DType::kBF16).data(), parameter->weights().compute().data());
    EXPECT_EQ(values(parameter->weights().read(DType::kBF16))[7], 3.0);
  }
}

TEST_F(FlatStorageTest, AWriteToARangeIsSeenByTensorsOverTheWhole) {
  const auto parameters = full_parameters();
  const Tensor whole(parameters[0]->weights().master().storage(), DType::kF32, {2 * kSize}, {1}, 0);
  const uint64_t before = whole.version();
  const uint64_t other = parameters[1]->weights().master().version();
  fill(parameters[0]->weights().master(), 3.0);
  EXPECT_NE(whole.version(), before);
  EXPECT_EQ(parameters[1]->weights().master().version(), other);
}

}  // namespace
}  // namespace halftone::optim
