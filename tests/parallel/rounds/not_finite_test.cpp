// Steps that ranks skip because many gradients of one rank are not finite: all of them name that rank.
#include <limits>

#include "optim/grad_scaler.h"
#include "parallel/coded/coded_average.h"
#include "parallel/rounds/averages.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

// The third of four ranks has a batch with an infinity, which reaches the gradient of every parameter.
constexpr int kCulprit = 2;

void break_batch(const Tensor& input) { fill(input, std::numeric_limits<double>::infinity()); }

Tensor loss_of(const nn::Module& model, Rank& rank, int step, bool breaks) {
  const Part part = Part::of(step, rank.number(), rank.group->size());
  const Tensor input = make_rows(rank.device(), part, {kFeatures}, 0.7);
  if (breaks) break_batch(input);
  return ops::mse_loss(model.run(input), make_rows(rank.device(), part, {kTargets}, 0.3), LossReduction::kMean);
}

// Without tanh, which would keep the infinity from the gradients of the first layer.
Ref<nn::Module> make_linear_model(ContextDevice& device) {
  return make_ref<nn::Sequential>(
      std::vector<Ref<nn::Module>>{make_ref<nn::Linear>(device, kFeatures, kHidden, true, DType::kF32),
                                   make_ref<nn::Linear>(device, kHidden, kTargets, true, DType::kF32)});
}

// `breaks`: by backward of the step, on the culprit.
void expect_named(Rank& rank, const nn::Module& model, const std::vector<bool>& breaks) {
  const Ref<optim::Optimizer> optimizer = make_adamw(model);
  optim::GradScaler scaler(rank.device(), {}, 1024.0f, true);
  for (const bool is_broken : breaks) {
    run_backward_of(scaler.scale(loss_of(model, rank, 0, is_broken && rank.number() == kCulprit)));
  }
  scaler.step(*optimizer);
  scaler.update();
  const optim::Optimizer::Outcome outcome = optimizer->outcome();
  EXPECT_TRUE(outcome.skipped);
  EXPECT_STREQ(outcome.offending, "0.weight");
  EXPECT_EQ(outcome.rank, kCulprit);
}

void expect_named_for_every_sharding(const std::vector<bool>& breaks) {
  run_ranks(4, [&](Rank& rank) {
    const Ref<nn::Module> model = make_linear_model(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    expect_named(rank, *model, breaks);
  });
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull}) {
    SCOPED_TRACE(static_cast<int>(sharding));
    run_ranks(4, [&](Rank& rank) {
      const Ref<nn::Module> model = make_linear_model(rank.device());
      const Ref<Sharded> sharded = shard(rank, *model, small_units(sharding));
      expect_named(rank, *model, breaks);
    });
  }
}

TEST(NotFiniteOnOneRank, D15_TheRankIsNamedWhereManyParametersOverflow) { expect_named_for_every_sharding({true}); }

// After the first backward the sums of all ranks are not finite.
TEST(NotFiniteOnOneRank, TheRankOfTheFirstBackwardIsNamed) { expect_named_for_every_sharding({true, false}); }

TEST(NotFiniteOnOneRank, HybridShardingNamesTheRankAmongAll) {
  const OwnedStore store = create_memory_store();
  run_ranks(4, [&](Rank& world) {
    const HybridGroups groups(world, *store);
    const Ref<nn::Module> model = make_linear_model(world.device());
    const Ref<Sharded> sharded =
        Sharded::create(*groups.shards, groups.replicas.get(), *model, small_units(Sharding::kFull));
    expect_named(world, *model, {true});
  });
}

TEST(NotFiniteOnOneRank, TheRankIsNamedWhereGradientsTravelAsCodes) {
  run_ranks(4, [&](Rank& rank) {
    const Ref<nn::Module> model = make_linear_model(rank.device());
    ReplicateOptions options = small_buckets();
    options.hook = coded_average(true);
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
    expect_named(rank, *model, {true});
  });
  run_ranks(4, [&](Rank& rank) {
    const Ref<nn::Module> model = make_linear_model(rank.device());
    ShardedOptions options = small_units(Sharding::kFull);
    options.wire_dtype = DType::kF8E5M2;
    const Ref<Sharded> sharded = shard(rank, *model, options);
    expect_named(rank, *model, {true});
  });
}

// Each rank's gradients are finite in f32, and the average in f16 is not.
TEST(NotFiniteOnOneRank, NoRankIsNamedWhereTheAverageAloneIsNotFinite) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_linear_model(rank.device());
    ReplicateOptions options = small_buckets();
    options.hook = narrow_average(DType::kF16);
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    optim::GradScaler scaler(rank.device(), {}, 0x1p30f, true);
    run_backward_of(scaler.scale(loss_of(*model, rank, 0, false)));
    scaler.step(*optimizer);
    scaler.update();
    EXPECT_TRUE(optimizer->outcome().skipped);
    EXPECT_EQ(optimizer->outcome().rank, -1);
  });
}

}  // namespace
}  // namespace halftone::parallel
