// Ranks that share the state of training in other precisions: equal to one rank, in the dtypes that were asked for.
#include "autograd/scope.h"
#include "autograd/weights/weights.h"
#include "nn/recompute.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/recipe.h"
#include "optim/grad_scaler.h"
#include "parallel/shards.h"
#include "sanitizers.h"

namespace halftone::parallel {
namespace {

constexpr int kMicrobatches = 4;  // of a step, if the sums are deterministic

struct Recipe {
  ShardedOptions options;
  optim::Precision precision = {};
  DType autocast = DType::kF32;
  bool is_scaled = false;
  bool recomputes = false;
  std::optional<RecipeKind> kind = {};  // of the products of linear layers
};

std::vector<float> train(Rank& rank, const Recipe& recipe) {
  const Task task = language_model();
  const Ref<nn::Module> model = task.make_model(rank.device());
  if (recipe.recomputes) nn::set_recompute(*model, {.match = {.kind = "transformer_block"}});
  const Ref<Sharded> sharded = shard(rank, *model, recipe.options);
  const AdamwGroup settings{.lr = 0.005, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};
  optim::AdamW optimizer({.parameters = model->parameters(), .precision = recipe.precision}, settings);
  optim::GradScaler scaler(rank.device(), {}, 1024.0f, recipe.is_scaled);
  const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(recipe.is_scaled ? DType::kF16 : DType::kBF16);
  if (recipe.kind)
    policy->set_recipe(
        make_ref<halftone::Recipe>(RecipeOptions{.kind = *recipe.kind, .gradient_format = NumberFormat::kE5M2}));
  for (int step = 0; step < kShardedSteps; ++step) {
    optimizer.zero_grad();
    const int ranks = rank.group->size(), parts = recipe.options.is_deterministic ? kMicrobatches : ranks;
    for (int round = 0; round < parts / ranks; ++round) {
      const ScopeGuard restore;
      if (recipe.autocast != DType::kF32) scope().autocast = policy.get();
      const Part part = Part::of(step, round * ranks + rank.number(), parts);
      const double share = recipe.options.is_deterministic ? 1.0 / parts : 1.0;
      run_backward_of(scaler.scale(ops::rescale(task.loss(*model, rank.device(), part), share, 0.0)));
    }
    scaler.unscale(optimizer);
    optimizer.gradients().clip_norm(0.5);
    scaler.step(optimizer);
    EXPECT_FALSE(optimizer.outcome().skipped);
    scaler.update();
  }
  return gathered_weights(*sharded, *model);
}

std::vector<float> train_on(int ranks, const Recipe& recipe) {
  std::vector<std::vector<float>> all(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](Rank& rank) { all[static_cast<size_t>(rank.number())] = train(rank, recipe); });
  for (const std::vector<float>& own : all) EXPECT_EQ(own, all[0]);
  return all[0];
}

constexpr Sharding kShardings[] = {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull};

void expect_like_one_rank(Recipe recipe, double tolerance) {
  for (const Sharding sharding : kShardings) {
    // ThreadSanitizer takes 20 times as long, and full sharding has all that the others do.
    if (kThreadSanitizer && sharding != Sharding::kFull) continue;
    recipe.options.sharding = sharding;
    const std::vector<float> expected = train_on(1, recipe);
    for (const int ranks : {2, 4}) {
      EXPECT_LE(relative_difference(train_on(ranks, recipe), expected), tolerance)
          << ranks << " ranks, sharding " << static_cast<int>(sharding);
    }
  }
}

// In 16 bits other batches round otherwise, so that each rank count computes the same microbatches.
void expect_bits_of_one_rank(Recipe recipe) {
  recipe.options.is_deterministic = true;
  expect_like_one_rank(recipe, 0.0);
}

TEST(ShardedPrecision, ClippedByTheNormOfAllRanks) { expect_like_one_rank({}, 1e-4); }

TEST(ShardedPrecision, Bf16Autocast) { expect_bits_of_one_rank({.options = {}, .autocast = DType::kBF16}); }

TEST(ShardedPrecision, F16AutocastWithAScaler) {
  expect_bits_of_one_rank({.options = {}, .autocast = DType::kF16, .is_scaled = true});
}

TEST(ShardedPrecision, WeightsGatheredInBf16) {
  Recipe recipe = {.options = {}, .autocast = DType::kBF16};
  recipe.options.weight_dtype = DType::kBF16;
  expect_bits_of_one_rank(recipe);
}

TEST(ShardedPrecision, WeightsGatheredAsCodes) {
  Recipe recipe = {.options = {}, .autocast = DType::kBF16, .kind = RecipeKind::kCurrent};
  recipe.options.weight_dtype = DType::kF8E4M3;
  expect_bits_of_one_rank(recipe);
  recipe.kind = {};
  EXPECT_EQ(train_on(3, recipe).size(), train_on(1, recipe).size());  // train_on compares the ranks
}

TEST(ShardedPrecision, GradientsSentInBf16) {
  Recipe recipe = {.options = {}};
  recipe.options.wire_dtype = DType::kBF16;
  expect_like_one_rank(recipe, 2e-2);
}

// Gradients are divided by the number of all ranks before they are sent, not by that of the ranks that share.
TEST(ShardedPrecision, GradientsSentInBf16ToReplicas) {
  const Task task = perceptron();
  const std::vector<float> expected = train_whole(task, make_sgd);
  const OwnedStore store = create_memory_store();
  run_ranks(4, [&](Rank& world) {
    const HybridGroups groups(world, *store);
    const Ref<nn::Module> model = task.make_model(world.device());
    ShardedOptions options = small_units(Sharding::kFull);
    options.wire_dtype = DType::kBF16;
    const Ref<Sharded> sharded = Sharded::create(*groups.shards, groups.replicas.get(), *model, options);
    const Ref<optim::Optimizer> optimizer = make_sgd(*model);
    for (int step = 0; step < kShardedSteps; ++step) {
      plain_step(task, *model, world.device(), *optimizer, Part::of(step, world.number(), 4));
    }
    EXPECT_LT(relative_difference(gathered_weights(*sharded, *model), expected), 1e-3);
  });
}

TEST(ShardedPrecision, SplitMastersWithNarrowMoments) {
  Recipe recipe = {.options = {},
                   .precision = {.compute_dtype = DType::kBF16,
                                 .grad_dtype = DType::kBF16,
                                 .moment1_dtype = DType::kI8,
                                 .master = optim::Master::kSplit,
                                 .moment2_dtype = DType::kU8},
                   .autocast = DType::kBF16};
  recipe.options.weight_dtype = DType::kBF16;
  expect_bits_of_one_rank(recipe);
}

TEST(ShardedPrecision, SplitMastersWhoseWeightsAreGatheredAsCodes) {
  Recipe recipe = {
      .options = small_units(Sharding::kFull),
      .precision = {.compute_dtype = DType::kBF16, .grad_dtype = DType::kBF16, .master = optim::Master::kSplit},
      .autocast = DType::kBF16};
  recipe.options.is_deterministic = true;
  recipe.options.weight_dtype = DType::kF8E4M3;
  EXPECT_EQ(train_on(2, recipe), train_on(1, recipe));
}

// The units of a recomputed block are gathered again when backward runs it again.
TEST(ShardedPrecision, RecomputedBlocksHaveTheSameBits) {
  for (const DType dtype : {DType::kF32, DType::kF8E4M3}) {
    Recipe recipe;
    recipe.options.sharding = Sharding::kFull;
    recipe.options.weight_dtype = dtype;
    if (dtype != DType::kF32) recipe.autocast = DType::kBF16;
    const std::vector<float> expected = train_on(2, recipe);
    recipe.recomputes = true;
    EXPECT_EQ(train_on(2, recipe), expected);
  }
}

// The dtypes of what a rank keeps, of what operations read, and of what the optimizer gets.
TEST(ShardedPrecision, StorageHasTheDtypesThatWereAskedFor) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    ShardedOptions options = small_units(Sharding::kFull);
    options.weight_dtype = DType::kBF16;
    options.wire_dtype = DType::kBF16;
    const Ref<Sharded> sharded = shard(rank, *model, options);
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    const GroupCounters before = rank.group->counters();
    {
      const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(DType::kBF16);
      const ScopeGuard restore;
      scope().autocast = policy.get();
      run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 2)));
    }
    int64_t gathered = 0, reduced = 0;
    for (const NamedParameter& named : model->parameters()) {
      const Parameter& parameter = *named.parameter;
      const bool is_matrix = parameter.shape().rank() == 2;
      EXPECT_EQ(parameter.weights().tensor().dtype(), is_matrix ? DType::kBF16 : DType::kF32) << named.name;
      EXPECT_EQ(parameter.weights().master().dtype(), DType::kF32) << named.name;
      EXPECT_EQ(parameter.placement().shard_grad().dtype(), DType::kF32) << named.name;
      // One flat buffer for each, of a part of 256 elements, once in forward and once in backward.
      gathered += 2 * 256 * (is_matrix ? 2 : 4);
      reduced += 256 * 2;
    }
    const int64_t sent = rank.group->counters().bytes_sent - before.bytes_sent;
    // The states of the ranks are a few bytes more. The first layer needs no weights in backward.
    EXPECT_LE(sent, gathered + reduced + 64);
    EXPECT_GE(sent, gathered / 2 + reduced);
  });
}

}  // namespace
}  // namespace halftone::parallel
