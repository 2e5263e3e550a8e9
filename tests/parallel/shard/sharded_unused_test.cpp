// Sharded models whose backward leaves out parameters: like replicated ones.
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

constexpr int kBranches = 4;
constexpr int64_t kWidth = 20;  // a weight has more elements than a block, so that ranks share it

// Linear layers side by side. No rank uses the last one.
struct Branches {
  explicit Branches(ContextDevice& device) {
    for (int i = 0; i < kBranches; ++i) {
      layers.push_back(make_ref<nn::Linear>(device, kWidth, kWidth, true, DType::kF32));
    }
    model = make_ref<nn::Sequential>(layers);
  }
  // `chosen` has a bit for each branch that the loss depends on.
  void backward(ContextDevice& device, int step, int rank, int chosen) const {
    Tensor loss;
    for (int i = 0; i < kBranches; ++i) {
      if ((chosen >> i & 1) == 0) continue;
      const Tensor input = full(device, DType::kF32, {1, kWidth}, 0.3 + 0.1 * step + 0.2 * rank);
      const Tensor own = ops::sum(layers[static_cast<size_t>(i)]->run(input), {}, false);
      loss = loss.defined() ? ops::add(loss, own) : own;
    }
    run_backward_of(loss);
  }

  std::vector<Ref<nn::Module>> layers;
  Ref<nn::Module> model;
};

using Choice = int (*)(int step, int rank);
int other_on_each_rank(int step, int rank) { return 1 << (step + rank) % (kBranches - 1); }
int equal_on_all_ranks(int step, int) { return 1 << step % (kBranches - 1); }

// Steps of one backward, then of two, and of two of which the first stays on the rank.
template <class Replica>
void train(Rank& rank, const Branches& branches, Replica& replica, Choice choice) {
  const Ref<optim::Optimizer> optimizer = make_adamw(*branches.model);
  for (int step = 0; step < 8; ++step) {
    optimizer->zero_grad();
    if (step % 3 > 0) {
      if (step % 3 == 2) replica.begin_no_sync();
      branches.backward(rank.device(), step, rank.number(), choice(step + 1, rank.number()));
      if (step % 3 == 2) replica.end_no_sync();
    }
    branches.backward(rank.device(), step, rank.number(), choice(step, rank.number()));
    optimizer->step();
  }
}

std::vector<float> train_replicated(int ranks, Choice choice) {
  std::vector<float> weights;
  run_ranks(ranks, [&](Rank& rank) {
    const Branches branches(rank.device());
    ReplicateOptions options = small_buckets();
    options.finds_unused = true;
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, branches.model, options);
    train(rank, branches, *replica, choice);
    if (rank.number() == 0) weights = weights_of(*branches.model);
  });
  return weights;
}

void expect_like_replicated(int ranks, Sharding sharding, Choice choice) {
  const std::vector<float> expected = train_replicated(ranks, choice);
  run_ranks(ranks, [&](Rank& rank) {
    const Branches branches(rank.device());
    const std::vector<float> first = weights_of(*branches.model);
    ShardedOptions options = small_units(sharding);
    options.finds_unused = true;
    const Ref<Sharded> sharded = shard(rank, *branches.model, options);
    train(rank, branches, *sharded, choice);
    const std::vector<float> weights = gathered_weights(*sharded, *branches.model);
    ASSERT_EQ(weights.size(), expected.size());
    EXPECT_LE(relative_difference(weights, expected), 1e-7) << ranks << " ranks";
    const size_t last = weights.size() / kBranches * (kBranches - 1);
    EXPECT_TRUE(
        std::equal(weights.begin() + static_cast<long>(last), weights.end(), first.begin() + static_cast<long>(last)))
        << "the update must leave what was not used";
  });
}

TEST(ShardedUnused, AParameterThatOneRankUsesGetsItsShareOnAllRanks) {
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients}) {
    SCOPED_TRACE(static_cast<int>(sharding));
    for (const int ranks : {1, 2, 3}) expect_like_replicated(ranks, sharding, other_on_each_rank);
  }
}

TEST(ShardedUnused, UnitsThatNoRankUsesAreLeftOut) {
  for (const int ranks : {1, 2, 3}) expect_like_replicated(ranks, Sharding::kFull, equal_on_all_ranks);
}

// A gradient that only ranks of the other group have.
TEST(ShardedUnused, GroupsThatReplicateTellEachOther) {
  const OwnedStore store = create_memory_store();
  run_ranks(4, [&](Rank& world) {
    const HybridGroups groups(world, *store);
    const Branches branches(world.device());
    ShardedOptions options = small_units(Sharding::kGradients);
    options.finds_unused = true;
    const Ref<Sharded> sharded = Sharded::create(*groups.shards, groups.replicas.get(), *branches.model, options);
    branches.backward(world.device(), 0, 0, 1 << world.number() / 2);
    for (size_t i = 0; i < 2 * kBranches; ++i) {
      EXPECT_EQ(branches.model->parameters()[i].parameter->has_shard_grad(), i < 4) << i;
    }
    const Tensor& grad = branches.model->parameters()[0].parameter->placement().shard_grad();
    if (grad.numel() > 0) {
      EXPECT_NEAR(values_of(grad)[0], 0.15f, 1e-6f);
    }
  });
}

}  // namespace
}  // namespace halftone::parallel
