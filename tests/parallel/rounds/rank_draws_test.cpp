// Dropout in the forwards of ranks whose contexts have one seed.
#include "nn/dropout.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

// A layer with weights, whose results are dropped. All ranks have one batch.
Ref<nn::Module> make_dropped(ContextDevice& device) {
  return make_ref<nn::Sequential>(std::vector<Ref<nn::Module>>{
      make_ref<nn::Linear>(device, kFeatures, kHidden, true, DType::kF32), make_ref<nn::Dropout>(0.5)});
}

std::vector<float> results_of(const nn::Module& model, ContextDevice& device) {
  return values_of(model.run(make_rows(device, Part::of(0, 0, 1), {kFeatures}, 0.7)));
}

// The results of two forwards on each rank. `replicate` returns what keeps the replica alive.
template <class Replica>
std::vector<std::vector<float>> results_on(int ranks, const Replica& replicate) {
  std::vector<std::vector<float>> all(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](Rank& rank) {
    const Ref<nn::Module> model = make_dropped(rank.device());
    const Ref<RefCounted> replica = replicate(rank, model);
    std::vector<float>& own = all[static_cast<size_t>(rank.number())];
    own = results_of(*model, rank.device());
    const std::vector<float> second = results_of(*model, rank.device());
    EXPECT_NE(second, own);
    own.insert(own.end(), second.begin(), second.end());
  });
  return all;
}

Ref<RefCounted> replicated(Rank& rank, const Ref<nn::Module>& model, bool is_deterministic) {
  ReplicateOptions options = small_buckets();
  options.is_deterministic = is_deterministic;
  return make_ref<Replicate>(*rank.group, model, options);
}

std::vector<float> results_alone() {
  return results_on(1, [](Rank&, const Ref<nn::Module>& model) { return Ref<RefCounted>(model); })[0];
}

TEST(RankDraws, RanksOfOneSeedDrawDifferentMasksAndRankZeroThoseOfOneProcess) {
  const auto replica = [](Rank& rank, const Ref<nn::Module>& model) { return replicated(rank, model, false); };
  const auto sharded = [](Rank& rank, const Ref<nn::Module>& model) {
    return Ref<RefCounted>(shard(rank, *model, small_units(Sharding::kFull)));
  };
  for (const auto& all : {results_on(3, replica), results_on(3, sharded)}) {
    EXPECT_EQ(all[0], results_alone());
    EXPECT_NE(all[1], all[0]);
    EXPECT_NE(all[2], all[0]);
    EXPECT_NE(all[2], all[1]);
  }
}

TEST(RankDraws, HybridReplicasDrawDifferentMasks) {
  const OwnedStore store = create_memory_store();
  std::vector<std::vector<float>> all(4);
  run_ranks(4, [&](Rank& world) {
    const HybridGroups groups(world, *store);
    const Ref<nn::Module> model = make_dropped(world.device());
    const Ref<Sharded> sharded =
        Sharded::create(*groups.shards, groups.replicas.get(), *model, small_units(Sharding::kFull));
    all[static_cast<size_t>(world.number())] = results_of(*model, world.device());
  });
  for (size_t rank = 1; rank < all.size(); ++rank) {
    for (size_t other = 0; other < rank; ++other) EXPECT_NE(all[rank], all[other]) << rank << " and " << other;
  }
}

// Two forwards of one microbatch differ; those of the ranks are those of two microbatches of one rank.
TEST(RankDraws, DeterministicMasksAreThoseOfTheMicrobatch) {
  const auto replica = [](Rank& rank, const Ref<nn::Module>& model) { return replicated(rank, model, true); };
  const auto both = results_on(2, replica);
  std::vector<std::vector<float>> alone;
  run_ranks(1, [&](Rank& rank) {
    const Ref<nn::Module> model = make_dropped(rank.device());
    const Ref<RefCounted> kept = replicated(rank, model, true);
    for (int microbatch = 0; microbatch < 2; ++microbatch) {
      const Tensor input = make_rows(rank.device(), Part::of(0, 0, 1), {kFeatures}, 0.7);
      const Tensor first = model->run(input), second = model->run(input);
      std::vector<float> results = values_of(first), more = values_of(second);
      results.insert(results.end(), more.begin(), more.end());
      alone.push_back(results);
      // Draws outside of the model's forward, on one rank alone, change nothing.
      rank.context->next_key();
      run_backward_of(ops::sum(ops::add(first, second), {}, false));
    }
  });
  EXPECT_EQ(both, alone);
}

// A seed of its own for each rank takes effect.
TEST(RankDraws, ASeedOfTheCallersDecides) {
  for (const bool is_deterministic : {false, true}) {
    const auto seeded = [&](uint64_t seed) {
      return results_on(2, [&](Rank& rank, const Ref<nn::Module>& model) {
        const Ref<RefCounted> made = replicated(rank, model, is_deterministic);
        rank.context->set_generator(seed + static_cast<uint64_t>(rank.number()), 0);
        rank.context->set_microbatches_taken(0);
        return made;
      });
    };
    const auto first = seeded(1);
    EXPECT_EQ(seeded(1), first);
    EXPECT_NE(seeded(5)[1], first[1]);
    EXPECT_NE(first[0], first[1]);
  }
}

}  // namespace
}  // namespace halftone::parallel
