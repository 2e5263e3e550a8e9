// Weights whose bits depend neither on the number of ranks nor on what they share.
#include <optional>

#include "autograd/weights/weights.h"
#include "parallel/recipes.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

constexpr int kMicrobatches = 8;  // of a step; number i * ranks + rank is that of a rank in round i
constexpr int kSteps = 3;

void train(Rank& rank, const Task& task, nn::Module& model, MakeOptimizer make_optimizer) {
  const int ranks = rank.group->size();
  const Ref<optim::Optimizer> optimizer = make_optimizer(model);
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    for (int round = 0; round < kMicrobatches / ranks; ++round) {
      const Part part = Part::of(step, round * ranks + rank.number(), kMicrobatches);
      run_backward_of(ops::rescale(task.loss(model, rank.device(), part), 1.0 / kMicrobatches, 0.0));
    }
    optimizer->gradients().clip_norm(0.3);
    optimizer->step();
  }
}

// Without a kind of sharding: replicated.
std::vector<float> train_on(int ranks, const Task& task, MakeOptimizer make_optimizer, std::optional<Sharding> sharding,
                            DType weight_dtype = DType::kF32) {
  std::vector<std::vector<float>> all(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](Rank& rank) {
    const Ref<nn::Module> model = task.make_model(rank.device());
    std::vector<float>& weights = all[static_cast<size_t>(rank.number())];
    if (!sharding) {
      ReplicateOptions options = small_buckets();
      options.is_deterministic = true;
      const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
      train(rank, task, *model, make_optimizer);
      for (const NamedParameter& named : parameters_once(*model)) {
        const std::vector<float> values = values_of(named.parameter->weights().master());
        weights.insert(weights.end(), values.begin(), values.end());
      }
      return;
    }
    ShardedOptions options = small_units(*sharding);
    options.is_deterministic = true;
    options.weight_dtype = weight_dtype;
    const Ref<Sharded> sharded = shard(rank, *model, options);
    train(rank, task, *model, make_optimizer);
    weights = gathered_weights(*sharded, *model);
  });
  return all[0];
}

void expect_same_bits(const Task& task, MakeOptimizer make_optimizer) {
  const std::vector<float> expected = train_on(1, task, make_optimizer, std::nullopt);
  EXPECT_EQ(train_on(4, task, make_optimizer, std::nullopt), expected);
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull}) {
    for (const int ranks : {1, 2, 4, 8}) {
      EXPECT_EQ(train_on(ranks, task, make_optimizer, sharding), expected)
          << ranks << " ranks, sharding " << static_cast<int>(sharding);
    }
  }
}

TEST(ShardedDeterministic, APerceptronHasTheSameBitsForEverySharding) { expect_same_bits(perceptron(), make_sgd); }

TEST(ShardedDeterministic, ALanguageModelHasTheSameBitsForEverySharding) {
  expect_same_bits(language_model(), make_adamw);
}

TEST(ShardedDeterministic, DropoutHasTheSameBitsForEverySharding) {
  expect_same_bits(language_model(0.2), make_sgd);
  expect_same_bits(language_model(0.2, true), make_sgd);
}

TEST(ShardedDeterministic, EveryRecipeHasTheSameBitsForEverySharding) {
  for (const RecipeKind kind : kRecipeKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    expect_same_bits(in_recipe(perceptron(), kind), make_sgd);
  }
}

TEST(ShardedDeterministic, NarrowWeightsHaveTheSameBitsForEverySharding) {
  const Task task = in_bf16(language_model());
  for (const DType dtype : {DType::kBF16, DType::kF8E4M3}) {
    const std::vector<float> expected = train_on(1, task, make_adamw, Sharding::kFull, dtype);
    for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull}) {
      EXPECT_EQ(train_on(2, task, make_adamw, sharding, dtype), expected)
          << name_of(dtype) << ", sharding " << static_cast<int>(sharding);
    }
  }
}

TEST(ShardedDeterministic, HybridShardingHasTheSameBits) {
  const Task task = language_model(0.2);
  const std::vector<float> expected = train_on(1, task, make_adamw, Sharding::kFull);
  const OwnedStore store = create_memory_store();
  std::vector<std::vector<float>> all(4);
  run_ranks(4, [&](Rank& world) {
    const HybridGroups groups(world, *store);
    const Ref<nn::Module> model = task.make_model(world.device());
    if (world.number() > 0) fill(model->parameters()[0].parameter->weights().master(), 3.0);
    ShardedOptions options = small_units(Sharding::kFull);
    options.is_deterministic = true;
    const Ref<Sharded> sharded = Sharded::create(*groups.shards, groups.replicas.get(), *model, options);
    train(world, task, *model, make_adamw);
    all[static_cast<size_t>(world.number())] = gathered_weights(*sharded, *model);
  });
  for (const std::vector<float>& own : all) EXPECT_EQ(own, expected);
}

}  // namespace
}  // namespace halftone::parallel
