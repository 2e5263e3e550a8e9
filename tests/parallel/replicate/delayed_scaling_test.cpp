// Delayed scaling over ranks: the scales of all follow from the largest magnitude of any.
#include "parallel/recipes.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

std::vector<float> buffer(const nn::Module& module, const std::string& name) {
  for (const nn::NamedBuffer& each : module.buffers()) {
    if (each.name == name) return values_of(each.tensor);
  }
  return {};
}

// The first layer reads numbers up to 1, 2, ... by rank.
void run_forward(const nn::Module& model, ContextDevice& device, int number) {
  AutocastPolicy policy(DType::kBF16);
  const ScopeGuard restore;
  scope().autocast = &policy;
  model.run(full(device, DType::kBF16, {2, kFeatures}, number + 1.0));
}

Ref<nn::Module> delayed_model(ContextDevice& device) {
  Ref<nn::Module> model = make_perceptron(device);
  nn::set_own_recipes(*model, {.kind = "linear"}, make_recipe(RecipeKind::kDelayed));
  return model;
}

// The newest magnitude is this rank's own until the next forward.
void expect_agreement(const nn::Module& model, int number, int size) {
  const auto own = static_cast<float>(number + 1), largest = static_cast<float>(size);
  EXPECT_EQ(buffer(model, "0.amax_scale")[0], largest / 448);
  const std::vector<float> history = buffer(model, "0.amax_history");
  EXPECT_EQ(std::vector<float>(history.begin(), history.begin() + 4), (std::vector<float>{own, largest, largest, 0}));
}

// Two histories of four numbers for each of two layers, which a rank sends at most twice.
TEST(DelayedScaling, OfReplicasAgreesBeforeEachForward) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = delayed_model(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, ReplicateOptions());
    const auto forward = [&] { run_forward(*model, rank.device(), rank.number()); };
    forward();
    const int64_t before = rank.group->counters().bytes_sent;
    forward();
    EXPECT_LE(rank.group->counters().bytes_sent - before, 2 * 2 * 2 * 4 * 4);
    forward();
    expect_agreement(*model, rank.number(), 3);
  });
}

TEST(DelayedScaling, OfShardsAgrees) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = delayed_model(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kGradients));
    for (int i = 0; i < 3; ++i) run_forward(*model, rank.device(), rank.number());
    expect_agreement(*model, rank.number(), 2);
  });
}

// A checkpoint between two steps holds the same on each rank, and a resumed run goes on from it.
TEST(DelayedScaling, IsAgreedAfterEachBackward) {
  std::vector<std::vector<float>> histories(3);
  run_ranks(3, [&](Rank& rank) {
    const Task task = in_recipe(perceptron(), RecipeKind::kDelayed);
    const Ref<nn::Module> model = task.make_model(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, ReplicateOptions());
    for (int step = 0; step < 2; ++step) {
      run_backward_of(task.loss(*model, rank.device(), Part::of(step, rank.number(), 3)));
    }
    histories[static_cast<size_t>(rank.number())] = buffer(*model, "0.amax_history");
    const int64_t before = rank.group->counters().bytes_sent;
    task.loss(*model, rank.device(), Part::of(2, rank.number(), 3));
    EXPECT_EQ(rank.group->counters().bytes_sent, before);
  });
  for (const float newest : {histories[0][0], histories[0][4]}) EXPECT_GT(newest, 0.0f);
  EXPECT_EQ(histories[1], histories[0]);
  EXPECT_EQ(histories[2], histories[0]);
}

TEST(DelayedScaling, EvaluationSendsNothing) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = delayed_model(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, ReplicateOptions());
    if (rank.number() != 0) return;
    const ScopeGuard restore;
    scope().grad_enabled = false;
    run_forward(*model, rank.device(), 0);
  });
}

}  // namespace
}  // namespace halftone::parallel
