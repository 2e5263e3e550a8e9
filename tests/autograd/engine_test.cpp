#include "autograd/engine.h"

#include <pthread.h>

#include <functional>
#include <memory>
#include <string>

#include "autograd/parameter.h"
#include "autograd/scope.h"
#include "ops/dispatch/record.h"
#include "ops/ops.h"
#include "room_fixture.h"
#include "sanitizers.h"

namespace halftone {
namespace {

class EngineTest : public RoomTest {
 protected:
  static void backward(const Tensor& root, bool retain_graph = false) { run_backward(root, Tensor(), retain_graph); }
};

TEST_F(EngineTest, AddsTheGradientsOfEveryUse) {
  const Tensor x = leaf({2}, {3, 4});
  backward(ops::sum(ops::mul(ops::add(x, x), x), {}, false));  // 2 x^2
  EXPECT_EQ(grad(x), (std::vector<double>{12, 16}));
}

TEST_F(EngineTest, AccumulatesUntilZeroGradThenWritesAnew) {
  const Tensor x = leaf({1}, {5});
  backward(ops::rescale(x, 2, 0));
  backward(ops::rescale(x, 2, 0));
  EXPECT_EQ(grad(x), (std::vector<double>{4}));
  accumulator_of(x)->zero_grad();
  EXPECT_FALSE(accumulator_of(x)->has_grad());
  backward(ops::rescale(x, 3, 0));
  EXPECT_EQ(grad(x), (std::vector<double>{3}));
}

TEST_F(EngineTest, AProductStoresIntoTheLeafWithoutATemporary) {
  const Tensor x = tensor({2, 2}, {1, 2, 3, 4});
  const Tensor w = leaf({2, 2}, {1, 0, 0, 1});
  backward(ops::sum(ops::linear(x, w, Tensor()), {}, false));
  backward(ops::sum(ops::linear(x, w, Tensor()), {}, false));
  EXPECT_EQ(grad(w), (std::vector<double>{8, 12, 8, 12}));
}

TEST_F(EngineTest, GradientsOfALeafKeepItsDtype) {
  const Tensor w = leaf({2}, {1, 2}, DType::kBF16);
  backward(ops::sum(ops::cast(w, DType::kF32), {}, false));
  EXPECT_EQ(accumulator_of(w)->grad().dtype(), DType::kBF16);
}

TEST_F(EngineTest, RefusesASecondRunUnlessTheGraphIsRetained) {
  const Tensor x = leaf({1}, {5});
  const Tensor y = ops::mul(x, x);
  backward(y, true);
  backward(y);
  EXPECT_EQ(grad(x), (std::vector<double>{20}));
  EXPECT_EQ(code_of([&] { backward(y); }), Code::kState);
  EXPECT_EQ(grad(x), (std::vector<double>{20}));  // backward had not begun, so nothing is lost
}

// A15
TEST_F(EngineTest, NoticesAWriteBetweenForwardAndBackward) {
  const Tensor x = leaf({1}, {5});
  const Tensor factor = tensor({1}, {2});
  const Tensor y = ops::mul(x, factor);
  fill(factor, 7);
  EXPECT_EQ(code_of([&] { backward(y); }), Code::kState);
  EXPECT_TRUE(accumulator_of(x)->gradient().is_invalid());
  accumulator_of(x)->zero_grad();
  backward(ops::mul(x, factor));
  EXPECT_EQ(grad(x), (std::vector<double>{7}));
}

TEST_F(EngineTest, AFailureInTheMiddleLeavesTheLeavesInvalidAndTheGraphUsable) {
  const Tensor x = leaf({1000}, std::vector<double>(1000, 1.0));
  const Tensor y = ops::sum(ops::mul(ops::mul(x, x), x), {}, false);
  device().allocator->release_cached();
  device().allocator->set_limit(device().allocator->stats().reserved);
  // All cached blocks are in use, so backward's first temporary fails.
  std::vector<Tensor> taken;
  EXPECT_EQ(code_of([&] {
              for (int i = 0; i < 100000; ++i) taken.push_back(empty(device(), DType::kF32, {1000}));
            }),
            Code::kOutOfMemory);
  EXPECT_EQ(code_of([&] { backward(y, true); }), Code::kOutOfMemory);
  EXPECT_TRUE(accumulator_of(x)->gradient().is_invalid());
  taken.clear();
  device().allocator->set_limit(0);
  accumulator_of(x)->zero_grad();
  backward(y);
  EXPECT_EQ(grad(x), std::vector<double>(1000, 3.0));
}

// M7
TEST_F(EngineTest, InvalidGradientsStaySoWhateverIsAddedUntilZeroGrad) {
  const Tensor x = tensor({2, 2}, {1, 2, 3, 4});
  const Tensor w = leaf({2, 2}, {1, 0, 0, 1});
  AccumulateGrad& accumulator = *accumulator_of(w);
  int calls = 0;
  accumulator.post_accumulate_hooks().add([&](AccumulateGrad&) { ++calls; });
  backward(ops::sum(ops::linear(x, w, Tensor()), {}, false));
  EXPECT_EQ(calls, 1);
  accumulator.invalidate();
  backward(ops::sum(ops::linear(x, w, Tensor()), {}, false));  // the product stores into the gradient directly
  EXPECT_TRUE(accumulator.gradient().is_invalid());
  backward(ops::sum(ops::mul(x, w), {}, false));  // the product hands over a tensor
  EXPECT_TRUE(accumulator.gradient().is_invalid());
  accumulator.accumulate(x);
  EXPECT_TRUE(accumulator.gradient().is_invalid());
  EXPECT_EQ(calls, 1);
  accumulator.zero_grad();
  backward(ops::sum(ops::mul(x, w), {}, false));
  EXPECT_EQ(grad(w), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(calls, 2);
}

struct GivesNoGradient final : Node {
  const char* name() const noexcept override { return "gives_no_gradient"; }
  void backward(const std::vector<Tensor>&, InputGrads&) override {}
  void release_saved() noexcept override {}
};

TEST_F(EngineTest, AHookRunsOnlyInABackwardThatGivesAGradient) {
  const Tensor w = leaf({1}, {3});
  int calls = 0;
  accumulator_of(w)->post_accumulate_hooks().add([&](AccumulateGrad&) { ++calls; });
  backward(ops::mul(w, w));
  const Tensor result = tensor({1}, {1});
  record<GivesNoGradient>(result, {&w});
  backward(result);
  EXPECT_EQ(calls, 1);
}

TEST_F(EngineTest, AGradientThatIsBroughtIsValidAfterAFailure) {
  const Tensor w = leaf({2}, {1, 2});
  backward(ops::sum(w, {}, false));
  accumulator_of(w)->invalidate();
  accumulator_of(w)->bring_grad(tensor({2}, {5, 6}));
  backward(ops::sum(w, {}, false));
  EXPECT_EQ(grad(w), (std::vector<double>{6, 7}));
}

TEST_F(EngineTest, RestoresTheModesOfTheThread) {
  const Tensor x = leaf({1}, {5});
  EXPECT_TRUE(scope().grad_enabled);
  backward(ops::mul(x, x));
  EXPECT_TRUE(scope().grad_enabled);
  EXPECT_EQ(code_of([&] { backward(tensor({1}, {1})); }), Code::kState);
  EXPECT_TRUE(scope().grad_enabled);
}

class EndOfBackwardTest : public EngineTest {
 protected:
  // Queues `callback` from the hook that runs when the leaf's gradient is complete.
  static void queue_from(const Tensor& leaf, std::function<void()> callback) {
    accumulator_of(leaf)->post_accumulate_hooks().add(
        [callback](AccumulateGrad&) { call_at_end_of_backward(callback); });
  }
};

TEST_F(EndOfBackwardTest, CallbacksRunOnceInOrderWhenEveryGradientIsThere) {
  const Tensor x = leaf({1}, {5});
  const Tensor w = leaf({1}, {3});
  std::vector<std::string> calls;
  const auto note = [&](const char* name) {
    EXPECT_TRUE(accumulator_of(x)->has_grad() && accumulator_of(w)->has_grad()) << name;
    calls.push_back(name);
  };
  // w is delivered first: its product is recorded last.
  queue_from(w, [&] { note("w"); });
  queue_from(x, [&] { note("x"); });
  backward(ops::mul(ops::mul(x, x), w));
  EXPECT_EQ(calls, (std::vector<std::string>{"w", "x"}));
  backward(ops::mul(x, w));
  EXPECT_EQ(calls.size(), 4u);
  calls.clear();
  backward(ops::mul(w, w));
  EXPECT_EQ(calls, (std::vector<std::string>{"w"})) << "a callback belongs to one backward";
}

TEST_F(EndOfBackwardTest, ACallbackMayQueueAnotherAndSeesTheModesOfBackward) {
  const Tensor x = leaf({1}, {5});
  const Tensor y = ops::mul(x, x);
  int calls = 0;
  queue_from(x, [&] {
    ++calls;
    EXPECT_FALSE(scope().grad_enabled);
    EXPECT_EQ(code_of([&] { backward(y, true); }), Code::kState) << "it runs inside backward";
    call_at_end_of_backward([&] { calls += 10; });
  });
  backward(y);
  EXPECT_EQ(calls, 11);
}

TEST_F(EndOfBackwardTest, ACallbackThatThrowsFailsBackward) {
  const Tensor x = leaf({1}, {5});
  bool is_later_called = false;
  const auto later_lives = std::make_shared<int>();
  const Ref<Hook> first = accumulator_of(x)->post_accumulate_hooks().add([&](AccumulateGrad&) {
    call_at_end_of_backward([] { fail(Code::kPeerLost, "", "rank 3 is gone"); });
    call_at_end_of_backward([&is_later_called, copy = later_lives] { is_later_called = true; });
  });
  EXPECT_EQ(code_of([&] { backward(ops::mul(x, x)); }), Code::kPeerLost);
  EXPECT_TRUE(accumulator_of(x)->gradient().is_invalid());
  EXPECT_FALSE(is_later_called);
  EXPECT_EQ(later_lives.use_count(), 1) << "the callback must be destroyed before backward returns";
  first->remove();
  accumulator_of(x)->zero_grad();
  backward(ops::mul(x, x));
  EXPECT_EQ(grad(x), (std::vector<double>{10}));
}

TEST_F(EndOfBackwardTest, ABackwardThatFailsBeforeDestroysItsCallbacks) {
  const Tensor x = leaf({1}, {5});
  const Tensor w = leaf({1}, {3});
  bool is_called = false;
  const auto lives = std::make_shared<int>();
  accumulator_of(w)->post_accumulate_hooks().add(
      [&](AccumulateGrad&) { call_at_end_of_backward([&is_called, copy = lives] { is_called = true; }); });
  accumulator_of(x)->post_accumulate_hooks().add([&](AccumulateGrad&) {
    EXPECT_EQ(lives.use_count(), 2) << "w must be delivered first";
    fail(Code::kCallback, "", "a hook failed");
  });
  EXPECT_EQ(code_of([&] { backward(ops::mul(ops::mul(x, x), w)); }), Code::kCallback);
  EXPECT_FALSE(is_called);
  EXPECT_EQ(lives.use_count(), 1);
}

TEST_F(EndOfBackwardTest, OutsideABackwardThereIsNothingToQueueOn) {
  EXPECT_EQ(code_of([] { call_at_end_of_backward([] {}); }), Code::kState);
  const Tensor x = leaf({1}, {5});
  backward(ops::mul(x, x));
  EXPECT_EQ(code_of([] { call_at_end_of_backward([] {}); }), Code::kState);
}

struct DeepGraph {
  Tensor x;
  int depth;
};

void* build_run_and_release(void* argument) {
  auto* graph = static_cast<DeepGraph*>(argument);
  Tensor y = graph->x;
  for (int i = 0; i < graph->depth; ++i) y = ops::rescale(y, 1.0, 0.0);
  run_backward(y, Tensor(), false);
  return nullptr;
}

// A28: the stack has 256 KiB, too little for a recursion over the graph.
TEST_F(EngineTest, AMillionNodesRunAndDieOnASmallStack) {
  constexpr int kDepth = kAnySanitizer ? 100'000 : 1'000'000;
  DeepGraph graph = {.x = leaf({1}, {1}), .depth = kDepth};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, build_run_and_release, &graph), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(grad(graph.x), (std::vector<double>{1}));
}

}  // namespace
}  // namespace halftone
