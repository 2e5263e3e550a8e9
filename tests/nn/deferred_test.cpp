// Modules that are made without memory for their weights.
#include <functional>
#include <thread>

#include "autograd/scope.h"
#include "autograd/weights/weights.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/module.h"
#include "nn/part_copies.h"
#include "nn/state.h"
#include "nn/transformer/transformer.h"
#include "ops/ops.h"
#include "optim/adamw.h"
#include "optim/ema.h"
#include "room_fixture.h"
#include "runtime/context.h"

namespace halftone::nn {
namespace {

class DeferredTest : public RoomTest {
 protected:
  static constexpr int64_t kWidth = 256;

  template <class Make>
  static auto deferred(const Make& make) {
    scope().defers_weights = true;
    auto made = make();
    scope().defers_weights = false;
    return made;
  }
  static Ref<Module> make_gpt(ContextDevice& device) {
    TransformerOptions options;
    options.attention = {.width = 16, .heads = 2, .kv_heads = 2, .is_causal = true};
    options.attention.position_kind = PositionKind::kLearned;
    options.hidden = 32;
    options.layers = 2;
    options.vocabulary = 17;
    options.positions = 6;
    return make_ref<Transformer>(device, options);
  }
  Ref<Linear> make_linear() { return make_ref<Linear>(device(), kWidth, kWidth, true, DType::kF32); }
  Ref<Linear> make_deferred() {
    return deferred([this] { return make_linear(); });
  }
  int64_t weight_bytes() { return device().allocator->stats().by_category[static_cast<int>(Category::kParameters)]; }
  static constexpr int64_t kLinearBytes = 4 * (kWidth + 1) * kWidth;
};

TEST_F(DeferredTest, WeightsAreThoseOfAModelThatWasMadeAtOnce) {
  const Ref<Context> other = make_ref<Context>(options());
  const Ref<Module> expected = make_gpt(other->device("cpu"));
  const Ref<Module> model = deferred([this] { return make_gpt(device()); });
  EXPECT_EQ(weight_bytes(), 0);
  context().next_key();  // what is drawn in between changes nothing
  const std::vector<NamedParameter> all = model->parameters(), reference = expected->parameters();
  ASSERT_EQ(all.size(), reference.size());
  for (size_t i = all.size(); i-- > 0;) {  // in another order
    EXPECT_EQ(values(all[i].parameter->leaf()), values(reference[i].parameter->leaf())) << all[i].name;
    EXPECT_EQ(all[i].parameter->weights().tensor().storage()->restorer(), nullptr);
  }
}

TEST_F(DeferredTest, AnEmbeddingsPaddingRowIsZero) {
  const Ref<Module> made = deferred([this] { return make_ref<Embedding>(device(), Shape{3, 2}, 1, DType::kF32); });
  const std::vector<double> rows = values(made->parameters()[0].parameter->leaf());
  EXPECT_EQ(rows[2], 0.0);
  EXPECT_EQ(rows[3], 0.0);
  EXPECT_NE(rows[0], 0.0);
}

TEST_F(DeferredTest, EveryUserOfWeightsHasThemMade) {
  const Ref<Context> other = make_ref<Context>(options());
  const auto weights_after = [&](const std::function<void(const Ref<Linear>&)>& use) {
    context().set_generator(kRoomSeed, 0);
    const Ref<Linear> layer = make_deferred();
    use(layer);
    EXPECT_EQ(weight_bytes() % kLinearBytes, 0);
    EXPECT_GT(weight_bytes(), 0);
    return values(layer->parameters()[0].parameter->weights().tensor());
  };
  const Ref<Linear> eager = make_ref<Linear>(other->device("cpu"), kWidth, kWidth, true, DType::kF32);
  const std::vector<double> expected = values(eager->parameters()[0].parameter->weights().tensor());
  EXPECT_EQ(weights_after([&](const auto& layer) {
              layer->run(full(device(), DType::kF32, {1, kWidth}, 1.0));
            }),
            expected);
  EXPECT_EQ(weights_after([&](const auto& layer) { state_of(*layer); }), expected);
  EXPECT_EQ(weights_after([&](const auto& layer) { copy_of(*layer); }), expected);
  EXPECT_EQ(weights_after([&](const auto& layer) {
              optim::AdamW adamw({.parameters = layer->parameters(), .precision = {}}, AdamwGroup{});
            }),
            expected);
  EXPECT_EQ(weights_after([&](const auto& layer) { make_ref<optim::Ema>(layer->parameters(), optim::EmaSettings{}); }),
            expected);
}

TEST_F(DeferredTest, ThreadsThatReadAtOnceGetTheSameWeights) {
  const Ref<Linear> layer = make_deferred();
  const Parameter& weight = *layer->parameters()[0].parameter;
  std::vector<std::vector<double>> seen(4);
  std::vector<std::thread> threads;
  for (std::vector<double>& own : seen) threads.emplace_back([&] { own = values(weight.weights().read(DType::kF32)); });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<double>& own : seen) EXPECT_EQ(own, values(weight.weights().tensor()));
}

TEST_F(DeferredTest, WeightsThatFindNoMemoryAreMadeByALaterReader) {
  const Ref<Linear> layer = make_deferred();
  const Parameter& weight = *layer->parameters()[0].parameter;
  device().allocator->set_limit(kWidth);
  EXPECT_EQ(code_of([&] { weight.leaf(); }), Code::kOutOfMemory);
  EXPECT_NE(weight.weights().tensor().storage()->restorer(), nullptr);
  device().allocator->set_limit(0);
  EXPECT_EQ(weight.leaf().numel(), kWidth * kWidth);
}

TEST_F(DeferredTest, AModelThatNobodyUsesLeavesNothing) {
  Ref<Linear> layer = make_deferred();
  layer = nullptr;
  EXPECT_EQ(device().allocator->stats().allocations, 0);
}

}  // namespace
}  // namespace halftone::nn
