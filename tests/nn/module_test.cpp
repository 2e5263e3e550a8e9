#include "nn/module.h"

#include "core/error.h"
#include "nn/activations.h"
#include "nn/layer.h"
#include "nn/sequential.h"
#include "room_fixture.h"

namespace halftone::nn {
namespace {

// Counts its calls in training mode in one buffer, and all its calls in a second one.
class Counter final : public Layer {
 public:
  explicit Counter(ContextDevice& device)
      : trained_(full(device, DType::kI64, {}, 0.0)), called_(full(device, DType::kI64, {}, 0.0)) {}
  const char* kind() const noexcept override { return "counter"; }

  Tensor forward(const Tensor& input) const override {
    if (is_training()) fill(trained_, item(trained_) + 1);
    fill(called_, item(called_) + 1);
    return input;
  }
  void append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const override {
    out.push_back({prefix + "trained", trained_});
    out.push_back({prefix + "called", called_});
  }

 private:
  Tensor trained_;
  Tensor called_;
};

// Takes two inputs and an optional third; gives their sum, and the number of inputs that are present.
class Sum final : public Module {
 public:
  const char* kind() const noexcept override { return "sum"; }
  Arity arity() const noexcept override { return {.required_inputs = 2, .inputs = 3, .outputs = 2}; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override {
    EXPECT_EQ(inputs.size(), 3u);
    EXPECT_EQ(outputs.size(), 2u);
    outputs[0] = ops::add(inputs[0], inputs[1]);
    if (inputs[2].defined()) outputs[0] = ops::add(outputs[0], inputs[2]);
    outputs[1] = full(inputs[0].device(), DType::kF32, {}, inputs[2].defined() ? 3 : 2);
  }
};

class ModuleTest : public RoomTest {
 protected:
  Ref<Module> nested() {
    std::vector<Ref<Module>> inner = {make_ref<Relu>(), make_ref<Counter>(device())};
    std::vector<Ref<Module>> outer = {make_ref<Counter>(device()), make_ref<Sequential>(std::move(inner))};
    return make_ref<Sequential>(std::move(outer));
  }
};

TEST_F(ModuleTest, BuffersAreNamedByTheirPlaceInOrder) {
  std::vector<std::string> names;
  for (const NamedBuffer& buffer : nested()->buffers()) names.push_back(buffer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.trained", "0.called", "1.1.trained", "1.1.called"}));
  EXPECT_TRUE(nested()->parameters().empty());
}

TEST_F(ModuleTest, BuffersAreTheTensorsThatForwardWrites) {
  const Ref<Module> module = nested();
  const std::vector<NamedBuffer> buffers = module->buffers();
  module->run(tensor({1}, {1}));
  for (const NamedBuffer& buffer : buffers) EXPECT_EQ(item(buffer.tensor), 1) << buffer.name;
}

TEST_F(ModuleTest, TheModeReachesPartsOfParts) {
  const Ref<Module> module = nested();
  EXPECT_TRUE(module->is_training());
  module->set_training(false);
  EXPECT_FALSE(module->is_training());
  module->run(tensor({1}, {1}));
  module->set_training(true);
  module->run(tensor({1}, {1}));
  module->run(tensor({1}, {1}));
  std::vector<double> counts;
  for (const NamedBuffer& buffer : module->buffers()) counts.push_back(item(buffer.tensor));
  EXPECT_EQ(counts, (std::vector<double>{2, 3, 2, 3}));
}

TEST_F(ModuleTest, ForwardSeesAllInputsAndOutputsHoweverFewTheCallerNames) {
  const Sum sum;
  std::vector<Tensor> outputs(1);
  sum.run(std::array{tensor({1}, {1}), tensor({1}, {20})}, outputs);
  EXPECT_EQ(item(outputs[0]), 21);
  outputs.resize(2);
  sum.run(std::array{tensor({1}, {1}), tensor({1}, {20}), Tensor()}, outputs);
  EXPECT_EQ(item(outputs[1]), 2);
  sum.run(std::array{tensor({1}, {1}), tensor({1}, {20}), tensor({1}, {300})}, outputs);
  EXPECT_EQ(item(outputs[0]), 321);
  EXPECT_EQ(item(outputs[1]), 3);
}

TEST_F(ModuleTest, AWrongNumberOfTensorsIsAnErrorThatNamesTheModule) {
  const auto message = [&](const Module& module, std::vector<Tensor> inputs, size_t output_count) {
    std::vector<Tensor> outputs(output_count);
    try {
      module.run(inputs, outputs);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_FALSE(outputs.size() > 0 && outputs[0].defined());
      return std::string(error.what());
    }
    return std::string();
  };
  const Tensor one = tensor({1}, {1});
  EXPECT_EQ(message(Sum(), {one}, 1), "input_count=1 for a module of kind sum, expected 2 to 3");
  EXPECT_EQ(message(Relu(), {one, one}, 1), "input_count=2 for a module of kind relu, expected 1");
  EXPECT_EQ(message(Sum(), {one, Tensor()}, 1), "inputs[1] is NULL, which a module of kind sum does not allow");
  EXPECT_EQ(message(Sum(), {one, one}, 3), "output_count=3 for a module of kind sum, expected 1 to 2");
  EXPECT_EQ(message(Sum(), {one, one}, 0), "output_count=0 for a module of kind sum, expected 1 to 2");
  const Sequential behind({make_ref<Relu>(), make_ref<Sum>()});
  EXPECT_EQ(message(behind, {one}, 1), "layer 1 (sum): input_count=1 for a module of kind sum, expected 2 to 3");
}

TEST_F(ModuleTest, ASequenceTakesTheInputsOfItsFirstModuleAndGivesTheOutputsOfItsLast) {
  const Sequential sequence({make_ref<Sum>(), make_ref<Relu>()});
  EXPECT_EQ(sequence.arity().required_inputs, 2u);
  EXPECT_EQ(sequence.arity().inputs, 3u);
  EXPECT_EQ(sequence.arity().outputs, 1u);
  EXPECT_EQ(Sequential({make_ref<Relu>(), make_ref<Sum>()}).arity().outputs, 2u);
  std::vector<Tensor> outputs(1);
  sequence.run(std::array{tensor({1}, {1}), tensor({1}, {-20}), tensor({1}, {30})}, outputs);
  EXPECT_EQ(item(outputs[0]), 11);
  const Sequential alone({make_ref<Sum>()});
  outputs.resize(2);
  alone.run(std::array{tensor({1}, {1}), tensor({1}, {2})}, outputs);
  EXPECT_EQ(item(outputs[1]), 2);
}

TEST_F(ModuleTest, HooksSeeAndReplaceSeveralTensors) {
  Sum sum;
  sum.forward_pre_hooks().add([&](const Module&, std::span<const Tensor> inputs, std::span<Tensor> replacements) {
    EXPECT_FALSE(inputs[2].defined());
    replacements[2] = tensor({1}, {300});
  });
  sum.forward_pre_hooks().add([&](const Module&, std::span<const Tensor> inputs, std::span<Tensor> replacements) {
    EXPECT_EQ(item(inputs[2]), 300);
    replacements[0] = tensor({1}, {4000});
  });
  sum.forward_hooks().add([&](const Module&, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                              std::span<Tensor> replacements) {
    EXPECT_EQ(item(inputs[0]), 4000);
    EXPECT_EQ(item(outputs[0]), 4320);
    replacements[1] = tensor({1}, {-1});
  });
  std::vector<Tensor> outputs(2);
  sum.run(std::array{tensor({1}, {1}), tensor({1}, {20})}, outputs);
  EXPECT_EQ(item(outputs[0]), 4320);
  EXPECT_EQ(item(outputs[1]), -1);
}

}  // namespace
}  // namespace halftone::nn
