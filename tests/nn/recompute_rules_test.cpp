// Recomputation: which forwards run again, what is refused, and what remains after a failure.
#include <array>

#include "autograd/recompute.h"
#include "autograd/weights/weights.h"
#include "failing_allocations.h"
#include "nn/recompute.h"
#include "nn/recompute_models.h"
#include "nn/transformer/attention.h"
#include "probe_device.h"

namespace halftone::nn {
namespace {

// x * sigmoid(x) by operations that save what they compute. Counts its forwards, and may do something else in one.
class Probe final : public Layer {
 public:
  const char* kind() const noexcept override { return "probe"; }
  bool has_callers_forward() const noexcept override { return true; }
  Tensor forward(const Tensor& input) const override {
    if (on_forward) on_forward(++calls);
    was_recomputing = is_recomputing();
    const Tensor result = ops::mul(input, ops::sigmoid(input));
    return instead && calls == 2 ? instead(result) : result;
  }

  std::function<void(int call)> on_forward = [](int) {};
  std::function<Tensor(const Tensor& result)> instead;  // of the second forward
  mutable int calls = 0;
  mutable bool was_recomputing = false;
};

class RecomputeRulesTest : public RecomputeTest {
 protected:
  Tensor input() { return leaf({3}, {-1, 0.5, 2}); }
  // The message of a backward that fails with STATE.
  static std::string refused(const Tensor& loss) {
    try {
      run_backward(loss, {}, false);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kState);
      return error.what();
    }
    return "no error";
  }
  static void expect_refused(const Tensor& loss, const char* part) {
    const std::string message = refused(loss);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
};

TEST_F(RecomputeRulesTest, TheForwardRunsAgainOnceForEachBackward) {
  Probe probe;
  const Tensor x = input();
  run_backward(loss_of(probe.run(x)), {}, false);
  EXPECT_EQ(probe.calls, 1);
  probe.set_recompute(true);
  const Tensor loss = loss_of(probe.run(x));
  EXPECT_EQ(probe.calls, 2);
  EXPECT_FALSE(probe.was_recomputing);
  run_backward(loss, {}, true);
  EXPECT_EQ(probe.calls, 3);
  EXPECT_TRUE(probe.was_recomputing);
  EXPECT_FALSE(is_recomputing());
  run_backward(loss, {}, false);
  EXPECT_EQ(probe.calls, 4);
}

TEST_F(RecomputeRulesTest, AForwardThatRecordsNothingIsNotARegion) {
  Probe probe;
  probe.set_recompute(true);
  const Tensor x = tensor({3}, {-1, 0.5, 2});
  EXPECT_FALSE(requires_grad(probe.run(x)));
  const ScopeGuard restore;
  scope().grad_enabled = false;
  EXPECT_FALSE(requires_grad(probe.run(input())));
  EXPECT_EQ(scope().recompute, nullptr);
}

// The second forward need not compute what is behind the last tensor that it makes: here the second product. A hook
// inside makes it run to its end, as the caller may count on that.
TEST_F(RecomputeRulesTest, TheSecondForwardStopsWhenItHasMadeAllTensors) {
  const Ref<Module> last = linear(4, 4);
  const Ref<Module> model = chain({linear(3, 4), make_ref<Tanh>(), last});
  model->set_recompute(true);
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto products = [&] {
    const Tensor loss = ops::sum(model->run(x), {}, false);
    const ProbeDevice probe(device());
    run_backward(loss, {}, false);
    return probe.launches();
  };
  const int64_t stopped = products();
  int calls = 0;
  const Ref<Hook> hook = last->forward_hooks().add(
      [&](const Module&, std::span<const Tensor>, std::span<const Tensor>, std::span<Tensor>) { ++calls; });
  EXPECT_EQ(products(), stopped + 1);
  EXPECT_EQ(calls, 2);
}

// Marked itself, attention computes one product again, the projections. A module around it computes the attention, too.
TEST_F(RecomputeRulesTest, AttentionKeepsItsResultWhereItIsMarkedItself) {
  const AttentionModuleOptions options = {.width = 8, .heads = 2, .kv_heads = 2, .is_causal = true};
  const Ref<Module> attention = make_ref<MultiheadAttention>(device(), options, 0.02), around = chain({attention});
  const Tensor x = full(device(), DType::kF32, {2, 5, 8}, 0.5);
  const auto launches = [&] {
    const Tensor loss = ops::sum(around->run(x), {}, false);
    const ProbeDevice probe(device());
    run_backward(loss, {}, false);
    return probe.launches();
  };
  const int64_t without = launches();
  attention->set_recompute(true);
  EXPECT_EQ(launches(), without + 1);
  around->set_recompute(true);
  EXPECT_GT(launches(), without + 1);
}

// A linear layer saves its weight and its input, which are there without it.
TEST_F(RecomputeRulesTest, AModuleWhoseOperationsSaveNothingOfTheirOwnIsNotRunAgain) {
  const Ref<Module> layer = linear(3, 2);
  const Ref<Probe> probe = make_ref<Probe>();
  const Ref<Module> model = chain({layer, probe});
  layer->set_recompute(true);
  int runs = 0;
  const Ref<Hook> hook = layer->forward_hooks().add(
      [&](const Module&, std::span<const Tensor>, std::span<const Tensor>, std::span<Tensor>) { ++runs; });
  run_backward(loss_of(model->run(tensor({2, 3}, {1, 2, 3, 4, 5, 6}))), {}, false);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(probe->calls, 1);
}

TEST_F(RecomputeRulesTest, TheOutermostMarkDecides) {
  const Ref<Probe> probe = make_ref<Probe>();
  const Ref<Module> inner = chain({probe}), outer = chain({inner, make_ref<Tanh>()});
  for (const Ref<Module>& module : {Ref<Module>(probe), inner, outer}) module->set_recompute(true);
  run_backward(loss_of(outer->run(input())), {}, false);
  EXPECT_EQ(probe->calls, 2);
}

TEST_F(RecomputeRulesTest, HooksOfTheInsideRunAgainAndThoseOfTheMarkedModuleDoNot) {
  const Ref<Probe> probe = make_ref<Probe>();
  const Ref<Module> model = chain({probe});
  model->set_recompute(true);
  int inner = 0, outer = 0, pre = 0;
  const auto counts = [](int& count) {
    return [&count](const Module&, std::span<const Tensor>, std::span<const Tensor>, std::span<Tensor>) { ++count; };
  };
  const Ref<Hook> hooks[] = {
      probe->forward_hooks().add(counts(inner)), model->forward_hooks().add(counts(outer)),
      model->forward_pre_hooks().add([&](const Module&, std::span<const Tensor>, std::span<Tensor>) { ++pre; })};
  run_backward(loss_of(model->run(input())), {}, false);
  EXPECT_EQ(inner, 2);
  EXPECT_EQ(outer, 1);
  EXPECT_EQ(pre, 1);
}

TEST_F(RecomputeRulesTest, ModesAndGeneratorAreThoseOfTheForward) {
  const Ref<Module> model = mlp();
  set_recompute(*model, {.match = {.path = ""}});
  context().set_generator(kRoomSeed, 10);
  run_backward(loss_of(model->run(noise({5, 6}))), {}, false);
  const std::vector<double> expected = gradient_of(*model->parameters()[0].parameter);
  model->parameters()[0].parameter->zero_grad();
  context().set_generator(kRoomSeed, 10);
  const Tensor loss = loss_of(model->run(noise({5, 6})));
  model->set_training(false);
  context().set_generator(99, 0);
  run_backward(loss, {}, false);
  EXPECT_EQ(gradient_of(*model->parameters()[0].parameter), expected);
  EXPECT_FALSE(model->find("0.2")->is_training());
  EXPECT_EQ(context().sequences_taken(), 0u);
}

TEST_F(RecomputeRulesTest, A38_WritesBetweenForwardAndBackwardAreRefused) {
  const Ref<Module> model = mlp();
  set_recompute(*model, {.match = {.path = "0"}});
  const auto loss_then = [&](const auto& write) {
    const Tensor x = noise({5, 6});
    const Tensor loss = loss_of(model->run(x));
    write(x);
    return loss;
  };
  expect_refused(loss_then([](const Tensor& x) { fill(x, 1.0); }),
                 "backward of tanh needs a tensor of shape [5, 6], which was written");
  // No operation saves a bias, but the forward reads it again.
  const Ref<Parameter> bias = model->find("0.0")->contents()->parameters[1].parameter;
  expect_refused(loss_then([&](const Tensor&) { fill(bias->weights().tensor(), 1.0); }),
                 "needs bias [10], which was written");
  expect_refused(loss_then([&](const Tensor&) {
                   bias->write(writable(bias->weights(), tensor({10}, std::vector<double>(10))));
                   bias->weights().mark_current();
                 }),
                 "bias [10]");
  expect_refused(loss_then([&](const Tensor&) { bias->set_frozen(true); }),
                 "bias was frozen after the forward of layer 0");
  expect_refused(loss_then([&](const Tensor&) { bias->set_frozen(false); }), "bias was made trainable after");
  run_backward(loss_then([](const Tensor&) {}), {}, false);
}

TEST_F(RecomputeRulesTest, RunningStatisticsThatTheForwardReadMustNotChange) {
  const Ref<Module> model = cnn();
  model->set_training(false);
  set_recompute(*model, {.match = {.path = ""}});
  const Tensor loss = loss_of(model->run(noise({4, 2, 12, 12})));
  fill(model->buffers()[0].tensor, 1.0);
  expect_refused(loss, "a tensor of shape [4], which was written");
}

TEST_F(RecomputeRulesTest, AChangedAutocastPolicyIsRefused) {
  const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(DType::kBF16);
  const Ref<Module> model = mlp();
  set_recompute(*model, {.match = {.path = "1"}});
  const Tensor loss = forward(*model, noise({5, 6}), policy.get());
  policy->set(Op::kLinear, AutocastClass::kFp32);
  expect_refused(loss, "the autocast policy was changed after the forward of layer 1 (sequential)");
}

TEST_F(RecomputeRulesTest, A38_AForwardThatIsNotTheSameTwiceIsRefused) {
  const std::pair<std::function<Tensor(const Tensor&)>, const char*> changes[] = {
      {[](const Tensor& result) { return ops::exp(result); },
       "the forward of the module of kind probe is not the same twice, as recomputing it requires: 4 tensors were "
       "saved for backward, not 3"},
      {[&](const Tensor& result) { return ops::dropout(result, 0.5, true); }, "another number of random tensors"}};
  for (const auto& [instead, message] : changes) {
    Probe probe;
    probe.set_recompute(true);
    probe.instead = instead;
    const Tensor x = input();
    expect_refused(loss_of(probe.run(x)), message);
    run_backward(loss_of(probe.run(x)), {}, false);  // from now on it is
  }
  const Ref<Probe> probe = make_ref<Probe>();
  probe->instead = [](const Tensor& result) { return ops::slice(result, 0, 0, 2, 1); };
  const Ref<Module> model = chain({probe, make_ref<Tanh>()});
  model->set_recompute(true);
  expect_refused(loss_of(model->run(input())), "saved tensor 3 is f32 [2] and was f32 [3]");
}

TEST_F(RecomputeRulesTest, A38_BackwardInsideAMarkedForwardIsRefusedAndChangesNothing) {
  const Ref<Probe> probe = make_ref<Probe>();
  std::vector<std::string> messages;
  probe->on_forward = [&](int) {
    const Tensor x = input();
    messages.push_back(refused(ops::sum(ops::exp(x), {}, false)));
  };
  const Tensor x = input();
  run_backward(loss_of(probe->run(x)), {}, false);
  const std::vector<double> expected = grad(x);
  accumulator_of(x)->zero_grad();
  EXPECT_EQ(messages, std::vector<std::string>{"no error"});
  messages.clear();
  probe->set_recompute(true);
  run_backward(loss_of(probe->run(x)), {}, false);
  EXPECT_EQ(grad(x), expected);
  ASSERT_EQ(messages.size(), 2u);
  for (const std::string& message : messages) {
    EXPECT_NE(message.find("while its forward has not ended"), std::string::npos) << message;
  }
}

// An operation that saved a tensor which the forward then writes in place.
TEST_F(RecomputeRulesTest, AWriteInsideTheForwardIsFoundAsWithoutRecomputation) {
  const Ref<Probe> probe = make_ref<Probe>();
  const Tensor kept = tensor({3}, {1, 2, 3});
  class Writer final : public Layer {
   public:
    const char* kind() const noexcept override { return "writer"; }
    bool has_callers_forward() const noexcept override { return true; }
    Tensor forward(const Tensor& input) const override {
      const Tensor result = ops::exp(input);
      const Tensor doubled = ops::mul(result, result);
      fill(result, 1.0);
      return doubled;
    }
  };
  for (const bool marks : {false, true}) {
    Writer writer;
    writer.set_recompute(marks);
    expect_refused(loss_of(writer.run(input())), "a tensor of shape [3], which was written");
  }
}

TEST_F(RecomputeRulesTest, AnErrorOfTheSecondForwardNamesItsLayerAndLeavesAllUsable) {
  const Ref<Probe> probe = make_ref<Probe>();
  bool fails = false;
  probe->on_forward = [&](int) {
    if (fails && is_recomputing()) fail(Code::kCancelled, "", "stopped");
  };
  const Ref<Module> block = chain({make_ref<Tanh>(), probe});
  const Ref<Module> model = chain({make_ref<Tanh>(), block});
  block->set_recompute(true);
  const Tensor x = input();
  const Tensor loss = loss_of(model->run(x));
  run_backward(loss, {}, true);
  const std::vector<double> expected = grad(x);
  fails = true;
  try {
    run_backward(loss, {}, true);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCancelled);
    EXPECT_STREQ(error.what(), "layer 1.1 (probe): stopped");
  }
  EXPECT_EQ(scope().recompute, nullptr);
  EXPECT_FALSE(scope().in_backward);
  fails = false;
  accumulator_of(x)->zero_grad();
  const Tensor again = loss_of(model->run(x));
  run_backward(again, {}, false);
  EXPECT_EQ(grad(x), expected);
}

TEST_F(RecomputeRulesTest, A38_NoFailingAllocationLosesMemoryOrChangesALaterStep) {
  const Ref<Module> model = mlp();
  set_recompute(*model, {.match = {.path = "?", .kind = "sequential"}});
  const auto zero_grad = [&] {
    for (const NamedParameter& named : model->parameters()) named.parameter->zero_grad();
  };
  const auto step = [&](int64_t failing) {
    context().set_generator(kRoomSeed, 10);
    zero_grad();
    const Tensor x = noise({5, 6});
    fail_allocation(failing, 0);
    try {
      run_backward(loss_of(model->run(x)), {}, false);
    } catch (const std::exception&) {
    }
    ignore_allocations();
    EXPECT_EQ(scope().recompute, nullptr);
  };
  const auto gradients = [&] {
    std::vector<std::vector<double>> all;
    for (const NamedParameter& named : model->parameters()) all.push_back(gradient_of(*named.parameter));
    return all;
  };
  step(-1);
  const std::vector<std::vector<double>> expected = gradients();
  const int64_t count = allocations_counted();
  zero_grad();  // their memory goes, and a step that fails has some of them
  const int64_t bytes = device().allocator->stats().current;
  for (int64_t failing = 0; failing < count; ++failing) {
    step(failing);
    zero_grad();
    ASSERT_EQ(device().allocator->stats().current, bytes) << "after allocation " << failing;
  }
  step(-1);
  EXPECT_EQ(gradients(), expected);
}

TEST_F(RecomputeRulesTest, CopiesKeepTheMarks) {
  const Ref<Module> model = gpt(2);
  set_recompute(*model, {.match = {.path = "h.1"}});
  const Ref<Module> copy = copy_of(*model);
  EXPECT_TRUE(copy->find("h.1")->recomputes());
  EXPECT_FALSE(copy->find("h.0")->recomputes());
}

TEST_F(RecomputeRulesTest, RulesMarkByPathKindAndPeriod) {
  const Ref<Module> model = gpt(5);
  const auto marked = [&] {
    std::vector<int> blocks;
    for (int i = 0; i < 5; ++i) {
      if (model->find("h." + std::to_string(i))->recomputes()) blocks.push_back(i);
    }
    return blocks;
  };
  EXPECT_EQ(set_recompute(*model, {.match = {.kind = "transformer_block"}, .every = 2}), 3);
  EXPECT_EQ(marked(), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(set_recompute(*model, {.match = {.path = "h.1"}}), 1);
  EXPECT_EQ(marked(), (std::vector<int>{0, 1, 2, 4}));
  EXPECT_EQ(set_recompute(*model, {.match = {.path = "h.?", .kind = "transformer_block"}, .every = 0}), 5);
  EXPECT_EQ(marked(), std::vector<int>());
  EXPECT_EQ(set_recompute(*model, {.match = {.path = "*.attn"}}), 5);
  EXPECT_TRUE(model->find("h.3.attn")->recomputes());
  EXPECT_EQ(set_recompute(*model, {.match = {.path = "nowhere"}}), 0);
  const Ref<Module> shared = make_ref<Tanh>();
  EXPECT_EQ(set_recompute(*chain({shared, shared, make_ref<Tanh>()}), {.match = {.kind = "tanh"}}), 2);
}

}  // namespace
}  // namespace halftone::nn
