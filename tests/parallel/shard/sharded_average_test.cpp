// Averages of weights that ranks share.
#include "autograd/scope.h"
#include "ops/dispatch/autocast.h"
#include "optim/ema.h"
#include "optim/state.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

constexpr int kMicrobatches = 4;
constexpr optim::EmaSettings kSettings = {.decay = 0.7, .warms_up = true};
constexpr Sharding kShardings[] = {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull};

ShardedOptions deterministic(Sharding sharding) {
  ShardedOptions options = small_units(sharding);
  options.is_deterministic = true;
  return options;
}

void train(Rank& rank, const nn::Module& model, optim::Ema& ema) {
  const Task task = language_model();
  const Ref<optim::Optimizer> optimizer = make_adamw(model);
  for (int step = 0; step < 3; ++step) {
    optimizer->zero_grad();
    const int ranks = rank.group->size();
    for (int round = 0; round < kMicrobatches / ranks; ++round) {
      const Part part = Part::of(step, round * ranks + rank.number(), kMicrobatches);
      run_backward_of(ops::rescale(task.loss(model, rank.device(), part), 1.0 / kMicrobatches, 0.0));
    }
    optimizer->step();
    ema.update();
  }
}

struct Weights {
  std::vector<float> before, averages, after;
};

Weights train_on(int ranks, const ShardedOptions& options, AutocastPolicy* policy = nullptr) {
  Weights weights;
  run_ranks(ranks, [&](Rank& rank) {
    const ScopeGuard restore;
    scope().autocast = policy;
    const Ref<nn::Module> model = language_model().make_model(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, options);
    optim::Ema ema(parameters_once(*model), kSettings);
    train(rank, *model, ema);
    Weights own;
    own.before = gathered_weights(*sharded, *model);
    ema.swap();
    own.averages = gathered_weights(*sharded, *model);
    ema.swap();
    own.after = gathered_weights(*sharded, *model);
    if (rank.number() == 0) weights = own;
  });
  return weights;
}

// One rank whose averages are of whole parameters.
std::vector<float> whole_averages() {
  std::vector<float> all;
  run_ranks(1, [&](Rank& rank) {
    const Ref<nn::Module> model = language_model().make_model(rank.device());
    ReplicateOptions options = small_buckets();
    options.is_deterministic = true;
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
    optim::Ema ema(parameters_once(*model), kSettings);
    train(rank, *model, ema);
    for (size_t i = 0; i < ema.size(); ++i) {
      const std::vector<float> values = values_of(ema.read(i));
      all.insert(all.end(), values.begin(), values.end());
    }
  });
  return all;
}

TEST(ShardedAverages, HaveTheBitsOfOneRankAndASecondSwapRestoresTheWeights) {
  const std::vector<float> expected = whole_averages();
  for (const Sharding sharding : kShardings) {
    for (const int ranks : {1, 2, 4}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, sharding " + std::to_string(static_cast<int>(sharding)));
      const Weights weights = train_on(ranks, deterministic(sharding));
      EXPECT_EQ(weights.averages, expected);
      EXPECT_NE(weights.before, expected);
      EXPECT_EQ(weights.after, weights.before);
    }
  }
}

// Averages are of the masters.
TEST(ShardedAverages, OfWeightsThatAreGatheredInBf16AreTheirRoundedAverages) {
  ShardedOptions options = deterministic(Sharding::kFull);
  options.weight_dtype = DType::kBF16;
  const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(DType::kBF16);
  const std::vector<float> alone = train_on(1, options, policy.get()).averages;
  EXPECT_EQ(train_on(2, options, policy.get()).averages, alone);
}

TEST(ShardedAverages, ARankKeepsAndSavesItsPartAlone) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = language_model().make_model(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kFull));
    const optim::Ema ema(parameters_once(*model), kSettings);
    const StateDict state = optim::state_of(ema);
    int64_t kept = 0, whole = 0;
    for (size_t i = 0; i < ema.size(); ++i) {
      const StateTensor& entry = *state.find(std::to_string(i) + "." + ema.name(i));
      EXPECT_EQ(entry.global_shape(), ema.parameter(i).shape());
      EXPECT_EQ(entry.numel(), ema.parameter(i).placement().shard().end - ema.parameter(i).placement().shard().begin);
      kept += ema.average(i).numel();
      whole += numel(ema.parameter(i).shape());
    }
    EXPECT_LT(kept, whole);
    EXPECT_EQ(error_of([&] { ema.read(0); }).code(), Code::kUnsupported);
  });
}

TEST(ShardedAverages, MadeBeforeTheModelWasShardedAreAnError) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = language_model().make_model(rank.device());
    optim::Ema ema(parameters_once(*model), kSettings);
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kFull));
    EXPECT_TRUE(contains(error_of([&] { ema.update(); }), "was sharded after its average was made"));
    EXPECT_TRUE(contains(error_of([&] { ema.swap(); }), "was sharded after its average was made"));
  });
}

TEST(ShardedAverages, OfOffloadedStateAreUnsupported) {
  run_ranks(1, [](Rank& rank) {
    const Ref<nn::Module> model = language_model().make_model(rank.device());
    ShardedOptions options = small_units(Sharding::kFull);
    options.offload = Offload::kHost;
    const Ref<Sharded> sharded = shard(rank, *model, options);
    const Error error = error_of([&] { optim::Ema(parameters_once(*model), kSettings); });
    EXPECT_EQ(error.code(), Code::kUnsupported);
    EXPECT_TRUE(contains(error, "is offloaded")) << error.what();
  });
}

}  // namespace
}  // namespace halftone::parallel
