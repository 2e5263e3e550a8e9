// Weights that stay on every rank are gathered after the step that changed them: no rank waits for them before they are
// read.
#include <barrier>

#include "autograd/weights/weights.h"
#include "nn/state.h"
#include "parallel/shards.h"
#include "parallel/slow_group.h"

namespace halftone::parallel {
namespace {

constexpr double kNoSleep = 1e15;

ShardedOptions small_buffers(Sharding sharding) {
  ShardedOptions options = small_units(sharding);
  options.bucket_bytes = 256;
  return options;
}

void run_backward_on(const nn::Module& model, Rank& rank, int step) {
  run_backward_of(perceptron_loss(model, rank.device(), Part::of(step, rank.number(), rank.group->size())));
}

std::vector<float> weights_read_alone(const nn::Module& model) {
  std::vector<float> all;
  for (const NamedParameter& named : parameters_once(model)) {
    const std::vector<float> values = values_of(named.parameter->weights().read(DType::kF32));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// A model on this rank, over a group whose operations a test may hold back.
struct Trained {
  Trained(Rank& rank, Sharding sharding)
      : slow(*rank.group, kNoSleep),
        model(make_perceptron(rank.device())),
        sharded(Sharded::create(slow, nullptr, *model, small_buffers(sharding))),
        optimizer(make_adamw(*model)) {}

  SlowGroup slow;
  Ref<nn::Module> model;
  Ref<Sharded> sharded;
  Ref<optim::Optimizer> optimizer;
};

class DelayedGather : public testing::TestWithParam<Sharding> {};

TEST_P(DelayedGather, AStepEndsBeforeItsWeightsArriveAndReadersWait) {
  run_ranks(2, [](Rank& rank) {
    Trained trained(rank, GetParam());
    const std::vector<float> before = gathered_weights(*trained.sharded, *trained.model);
    run_backward_on(*trained.model, rank, 0);
    const size_t done = trained.slow.spans().size();
    trained.slow.hold();
    trained.optimizer->step();
    EXPECT_EQ(trained.slow.spans().size(), done) << "the step waits for no gather";
    trained.slow.let_go();
    const std::vector<float> read = weights_read_alone(*trained.model);
    EXPECT_GT(trained.slow.spans().size(), done + 1) << "one gather for each buffer";
    EXPECT_GT(relative_difference(read, before), 1e-4);
    const size_t after = trained.slow.spans().size();
    EXPECT_EQ(read, gathered_weights(*trained.sharded, *trained.model));
    EXPECT_EQ(trained.slow.spans().size(), after) << "what was read had arrived";
  });
}

// The first layer's weights are the first that the next forward needs.
TEST_P(DelayedGather, BuffersSetOutInTheOrderOfTheModel) {
  run_ranks(2, [](Rank& rank) {
    Trained trained(rank, GetParam());
    run_backward_on(*trained.model, rank, 0);
    const size_t done = trained.slow.spans().size();
    trained.optimizer->step();
    settle(*trained.model);
    std::vector<const void*> expected, sent;
    for (const NamedParameter& named : parameters_once(*trained.model)) {
      const void* const buffer = named.parameter->weights().tensor().storage()->data();
      if (expected.empty() || expected.back() != buffer) expected.push_back(buffer);
    }
    const std::vector<SlowGroup::Span> spans = trained.slow.spans();
    for (size_t i = done; i < spans.size(); ++i) sent.push_back(spans[i].out);
    EXPECT_GT(expected.size(), 1u);
    EXPECT_EQ(sent, expected);
  });
}

// The forward of a layer waits for its own weights, and not for those of the layers after it.
TEST_P(DelayedGather, AForwardBeginsBeforeTheLastWeightsArrive) {
  run_ranks(2, [](Rank& rank) {
    Trained trained(rank, GetParam());
    run_backward_on(*trained.model, rank, 0);
    trained.slow.hold();
    trained.optimizer->step();
    EXPECT_NE(trained.model->parameters().back().parameter->weights().tensor().storage()->restorer(), nullptr);
    bool is_last_there = true;
    const_cast<nn::Module*>(trained.model->child(0))->forward_hooks().add([&](auto&&...) {
      is_last_there = trained.model->parameters().back().parameter->weights().tensor().storage()->restorer() == nullptr;
    });
    trained.slow.let_go();
    run_backward_on(*trained.model, rank, 1);
    EXPECT_FALSE(is_last_there);
  });
}

// A second step, and loaded weights, do not change what is being sent.
TEST_P(DelayedGather, WhoChangesWeightsWaitsForThoseOnTheirWay) {
  std::vector<std::vector<float>> results;
  for (const Sharding sharding : {GetParam(), Sharding::kFull}) {
    std::vector<float> result;
    run_ranks(2, [&](Rank& rank) {
      SlowGroup slow(*rank.group, 1e6);
      const Ref<nn::Module> model = make_perceptron(rank.device());
      const Ref<Sharded> sharded = Sharded::create(slow, nullptr, *model, small_buffers(sharding));
      const Ref<optim::Optimizer> optimizer = make_sgd(*model);
      const std::vector<float> first = gathered_weights(*sharded, *model);
      StateDict state;
      const StateDict live = nn::state_of(*model);
      for (const StateTensor& entry : live.tensors()) {
        StateTensor kept = entry;
        kept.tensor = converted(entry.tensor, entry.tensor.dtype(), Category::kOptimizer);
        state.add_entry(entry.name, kept);
      }
      run_backward_on(*model, rank, 0);
      optimizer->step();
      optimizer->step();
      nn::load_state(*model, state, true);
      EXPECT_EQ(gathered_weights(*sharded, *model), first);
      run_backward_on(*model, rank, 1);
      optimizer->step();
      optimizer->step();
      const std::vector<float> all = gathered_weights(*sharded, *model);
      if (rank.number() == 0) result = all;
    });
    results.push_back(result);
  }
  EXPECT_EQ(results[0], results[1]);
}

// The step of the others succeeds; whatever reads the weights afterwards tells of the lost rank.
TEST_P(DelayedGather, ALostRankIsAnErrorOfWhoeverReadsTheWeights) {
  std::barrier together(2);
  run_ranks(2, [&](Rank& rank) {
    Trained trained(rank, GetParam());
    run_backward_on(*trained.model, rank, 0);
    together.arrive_and_wait();
    if (rank.number() == 1) {
      rank.group->abort("killed");
      return;
    }
    EXPECT_NO_THROW(trained.optimizer->step());
    EXPECT_EQ(trained.optimizer->step_count(), 1);
    for (int i = 0; i < 2; ++i) {
      const Error error = error_of([&] { trained.model->parameters()[0].parameter->leaf(); });
      EXPECT_EQ(error.code(), Code::kPeerLost) << error.what();
    }
    const Error error = error_of([&] { run_backward_on(*trained.model, rank, 1); });
    EXPECT_EQ(error.code(), Code::kPeerLost) << error.what();
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, DelayedGather, testing::Values(Sharding::kOptimizer, Sharding::kGradients),
                         [](const auto& kind) {
                           return kind.param == Sharding::kOptimizer ? "optimizer" : "gradients";
                         });

}  // namespace
}  // namespace halftone::parallel
