#include "nn/state.h"

#include "nn/linear.h"
#include "nn/sequential.h"
#include "ops/ops.h"
#include "representations.h"
#include "room_fixture.h"
#include "runtime/context.h"

namespace halftone::nn {
namespace {

// A module with a buffer of i64 and one of f32.
class Buffered final : public Layer {
 public:
  explicit Buffered(ContextDevice& device)
      : count_(full(device, DType::kI64, {}, 3.0)), mean_(full(device, DType::kF32, {2}, 0.5)) {}
  const char* kind() const noexcept override { return "buffered"; }
  Tensor forward(const Tensor& input) const override { return input; }
  void append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const override {
    out.push_back({prefix + "mean", mean_});
    out.push_back({prefix + "count", count_});
  }

 private:
  Tensor count_;
  Tensor mean_;
};

class StateTest : public RoomTest {
 protected:
  Ref<Module> model() {
    std::vector<Ref<Module>> layers = {make_ref<Linear>(device(), 2, 3, true, DType::kF32),
                                       make_ref<Buffered>(device())};
    return make_ref<Sequential>(std::move(layers));
  }
  // The values of all tensors of a state, joined.
  static std::vector<double> all_values(const Module& module) {
    std::vector<double> result;
    const StateDict state = state_of(module);
    for (const StateTensor& entry : state.tensors()) {
      for (double value : values(in_memory(entry))) result.push_back(value);
    }
    return result;
  }
};

TEST_F(StateTest, ListsParametersThenBuffersOverLiveMemory) {
  const Ref<Module> module = model();
  const StateDict state = state_of(*module);
  std::vector<std::string> names;
  for (const StateTensor& entry : state.tensors()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "1.mean", "1.count"}));
  fill(module->parameters()[1].parameter->weights().master(), 7);
  EXPECT_EQ(values(state.find("0.bias")->tensor), (std::vector<double>{7, 7, 7}));
}

TEST_F(StateTest, LoadsEverythingAndBringsCopiesUpToDate) {
  const Ref<Module> from = model(), to = model();
  const Ref<Parameter> weight = to->parameters()[0].parameter;
  weight->weights().set_compute(converted(weight->weights().master(), DType::kBF16));
  fill(from->buffers()[1].tensor, 11);
  load_state(*to, state_of(*from), true);
  EXPECT_EQ(all_values(*to), all_values(*from));
  EXPECT_EQ(weight->weights().read(DType::kBF16).data(), weight->weights().compute().data());
  EXPECT_EQ(values(weight->weights().compute()), values(converted(weight->weights().master(), DType::kBF16)));
}

TEST_F(StateTest, SplitWeightsAreJoinedAndSplitAgainBitForBit) {
  const Ref<Module> from = model(), to = model();
  const std::vector<double> expected = all_values(*from);
  split(from->parameters()[0].parameter->weights());
  EXPECT_EQ(all_values(*from), expected);
  split(to->parameters()[0].parameter->weights());
  load_state(*to, state_of(*from), true);
  EXPECT_EQ(all_values(*to), expected);
  join(to->parameters()[0].parameter->weights());
  EXPECT_EQ(all_values(*to), expected);
}

// A saved model of split weights would be in memory twice otherwise.
TEST_F(StateTest, SplitWeightsAreJoinedWhenTheyAreRead) {
  const Ref<Module> module = model();
  const std::vector<double> expected = values(module->parameters()[0].parameter->weights().master());
  split(module->parameters()[0].parameter->weights());
  const StateDict state = state_of(*module);
  const StateTensor* weight = state.find("0.weight");
  ASSERT_FALSE(weight->tensor.defined());
  EXPECT_EQ(weight->dtype(), DType::kF32);
  EXPECT_EQ(weight->shape(), (Shape{3, 2}));
  const Tensor range = empty(device(), DType::kF32, {3});
  weight->reader->read(2, range);
  EXPECT_EQ(values(range), std::vector<double>(expected.begin() + 2, expected.begin() + 5));
  EXPECT_EQ(values(in_memory(*weight)), expected);
}

// The weights that a reader joins are those that the load writes.
TEST_F(StateTest, SplitWeightsLoadedIntoTheirOwnModuleStay) {
  const Ref<Module> module = model();
  const std::vector<double> expected = all_values(*module);
  split(module->parameters()[0].parameter->weights());
  load_state(*module, state_of(*module), true);
  EXPECT_EQ(all_values(*module), expected);
}

TEST_F(StateTest, WeightsOfOtherFloatsConvert) {
  const Ref<Module> module = model();
  StateDict state;
  state.add("0.bias", tensor({3}, {1.5, -2, 0.25}, DType::kF16));
  split(module->parameters()[0].parameter->weights());
  state.add("0.weight", ops::transpose(tensor({2, 3}, {1, 3, 5, 2, 4, 6}, DType::kF64), 0, 1));
  load_state(*module, state, false);
  EXPECT_EQ(values(state_of(*module).find("0.bias")->tensor), (std::vector<double>{1.5, -2, 0.25}));
  EXPECT_EQ(values(in_memory(*state_of(*module).find("0.weight"))), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

// The state consists of views of the memory that the load writes.
TEST_F(StateTest, ValuesAreTakenBeforeTheFirstWrite) {
  std::vector<Ref<Module>> layers = {make_ref<Linear>(device(), 2, 2, false, DType::kF32),
                                     make_ref<Linear>(device(), 2, 2, false, DType::kF32)};
  const Sequential module(std::move(layers));
  const Tensor first = module.parameters()[0].parameter->weights().master(),
               second = module.parameters()[1].parameter->weights().master();
  write_from_host(first, DType::kF64, std::vector<double>{1, 2, 3, 4}.data());
  write_from_host(second, DType::kF64, std::vector<double>{5, 6, 7, 8}.data());
  StateDict state;
  state.add("0.weight", second);
  state.add("1.weight", ops::transpose(first, 0, 1));
  load_state(module, state, true);
  EXPECT_EQ(values(first), (std::vector<double>{5, 6, 7, 8}));
  EXPECT_EQ(values(second), (std::vector<double>{1, 3, 2, 4}));
  load_state(module, state_of(module), true);
  EXPECT_EQ(values(first), (std::vector<double>{5, 6, 7, 8}));
}

TEST_F(StateTest, AStateOfAnotherContextIsLoaded) {
  const Ref<Context> other = make_ref<Context>(options());
  const Linear from(other->device("cpu"), 2, 3, true, DType::kF32);
  const Linear to(device(), 2, 3, true, DType::kF32);
  fill(from.parameters()[1].parameter->weights().master(), 9);
  load_state(to, state_of(from), true);
  EXPECT_EQ(all_values(to), all_values(from));
}

TEST_F(StateTest, BackwardThroughWeightsLoadedSinceIsRefused) {
  const Linear layer(device(), 2, 3, false, DType::kF32);
  const Tensor out = layer.forward(leaf({1, 2}, {1, 2}));
  load_state(layer, state_of(layer), true);
  EXPECT_EQ(code_of([&] { run_backward(out, tensor({1, 3}, {1, 1, 1}), false); }), Code::kState);
}

TEST_F(StateTest, AMessageKeepsToOneLineWhateverTheNames) {
  StateDict state;
  state.add("a\nb", tensor({1}, {1}));
  try {
    load_state(*model(), state, true);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("unexpected: 1 (a?b)"), std::string::npos) << error.what();
  }
}

TEST_F(StateTest, WhatDoesNotFitChangesNothing) {
  const Ref<Module> module = model();
  const std::vector<double> before = all_values(*module);
  StateDict shapes, dtypes, names;
  shapes.add("0.weight", tensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  shapes.add_range("0.bias", tensor({2}, {1, 2}), {3}, 0);
  dtypes.add("0.weight", tensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  dtypes.add("1.count", tensor({}, {4}));
  names.add("0.weight", tensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(code_of([&] { load_state(*module, shapes, false); }), Code::kShapeMismatch);
  EXPECT_EQ(code_of([&] { load_state(*module, dtypes, false); }), Code::kDtypeMismatch);
  EXPECT_EQ(code_of([&] { load_state(*module, names, true); }), Code::kInvalidArgument);
  EXPECT_EQ(all_values(*module), before);
}

}  // namespace
}  // namespace halftone::nn
