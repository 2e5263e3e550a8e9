// Ranks that share the state of training, and send gradients as E5M2.
#include <limits>

#include "parallel/coded/coded_reference.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

constexpr Sharding kCodedShardings[] = {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull};

ShardedOptions coded_units(Sharding sharding) {
  ShardedOptions options = small_units(sharding);
  options.wire_dtype = DType::kF8E5M2;
  return options;
}

// Rank 0 has an infinity in step 1.
float gradient_of(int step, int rank, size_t i) {
  if (step == 1 && rank == 0 && i == 7) return std::numeric_limits<float>::infinity();
  return static_cast<float>(std::sin(0.3 * static_cast<double>(i * static_cast<size_t>(3 + rank + 5 * step))));
}

// One matrix whose gradient the test brings; its part goes to the optimizer.
void expect_reference(Rank& rank, const ShardedOptions& options) {
  constexpr int64_t kWide = 50;
  const int ranks = rank.group->size();
  const Ref<nn::Linear> layer = make_ref<nn::Linear>(rank.device(), kWide, kWide, false, DType::kF32);
  const Ref<Sharded> sharded = Sharded::create(*rank.group, nullptr, layer->parameters(), options);
  Parameter& weight = *layer->parameters()[0].parameter;
  CodedReference reference(ranks, options.has_error_feedback);
  for (int step = 0; step < 4; ++step) {
    std::vector<Values> gradients;
    for (int number = 0; number < ranks; ++number) {
      Values& flat = gradients.emplace_back(sharded->buckets().buckets()[0].flat.numel());
      for (size_t i = 0; i < kWide * kWide; ++i) flat[i] = gradient_of(step, number, i);
    }
    weight.zero_grad();
    AccumulateGrad& leaf = weight.accumulator();
    write_from_host(leaf.sink().tensor, DType::kF32, gradients[static_cast<size_t>(rank.number())].data());
    leaf.mark_stored();
    sharded->mark_ready(weight);
    sharded->finish();
    const Values all = reference.sums(gradients);
    const Shard& shard = weight.placement().shard();
    const Values part = values_of(weight.placement().shard_grad());
    if (step != 1) {
      EXPECT_EQ(part, Values(all.begin() + shard.begin, all.begin() + shard.end)) << "step " << step;
    } else {
      EXPECT_TRUE(std::all_of(part.begin(), part.end(), [](float value) { return std::isnan(value); }));
    }
  }
}

TEST(CodedShards, HaveTheBitsOfPlainLoopsAlsoAfterAnInfinity) {
  for (const Sharding sharding : kCodedShardings) {
    for (const int ranks : {1, 2, 3, 4}) {
      for (const bool feeds_back : {false, true}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, sharding " + std::to_string(static_cast<int>(sharding)));
        ShardedOptions options = coded_units(sharding);
        options.has_error_feedback = feeds_back;
        run_ranks(ranks, [&](Rank& rank) { expect_reference(rank, options); });
      }
    }
  }
}

// Weights are gathered in f32, 4 bytes, and gradients sent as one.
TEST(CodedShards, SendAByteForEachElement) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, coded_units(Sharding::kGradients));
    const Ref<optim::Optimizer> optimizer = make_sgd(*model);
    const int64_t before = rank.group->counters().bytes_sent;
    run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 2)));
    const int64_t sent = rank.group->counters().bytes_sent - before;
    int64_t elements = 0;
    for (const GradientBuckets::Bucket& bucket : sharded->buckets().buckets()) elements += bucket.flat.numel();
    const auto buckets = static_cast<int64_t>(sharded->buckets().buckets().size());
    EXPECT_GE(sent, elements / 2);
    EXPECT_LE(sent, elements / 2 + 8 * buckets + 64) << "with a scale for each bucket, and the states of the ranks";
  });
}

TEST(CodedShards, TrainLikeOneRank) {
  const Task task = language_model();
  const std::vector<float> expected = train_whole(task, make_adamw);
  for (const Sharding sharding : kCodedShardings) {
    std::vector<std::vector<float>> weights(2);
    run_ranks(2, [&](Rank& rank) {
      weights[static_cast<size_t>(rank.number())] = train_sharded(rank, task, make_adamw, coded_units(sharding));
    });
    for (const std::vector<float>& own : weights) EXPECT_EQ(own, weights[0]);
    const double difference = relative_difference(weights[0], expected);
    RecordProperty("relative_difference", std::to_string(difference));
    EXPECT_LT(difference, 0.03);
  }
}

}  // namespace
}  // namespace halftone::parallel
