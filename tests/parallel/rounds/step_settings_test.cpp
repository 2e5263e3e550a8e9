// Settings of a step that differ between ranks: all ranks get an error that names a rank and the setting.
#include "parallel/rounds/step_settings.h"

#include "parallel/rounds/averages.h"
#include "parallel/rounds/rank_status.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

using Change = std::function<void(optim::AdamW& optimizer)>;

Ref<optim::AdamW> make_settable(const nn::Module& model, const AdamwGroup& settings,
                                const optim::Precision& precision) {
  return make_ref<optim::AdamW>(optim::ParameterGroup{.parameters = model.parameters(), .precision = precision},
                                settings);
}

constexpr AdamwGroup kSettings = {.lr = 0.005, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};

Error error_of_backward(const nn::Module& model, Rank& rank) {
  return error_of(
      [&] { run_backward_of(perceptron_loss(model, rank.device(), Part::of(0, rank.number(), rank.group->size()))); });
}

// Runs `body` with a model of every kind of sharding, which lives for the call.
void with_every_sharding(int ranks, const std::function<void(Rank& rank, nn::Module& model)>& body) {
  run_ranks(ranks, [&](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    body(rank, *model);
  });
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull}) {
    SCOPED_TRACE(static_cast<int>(sharding));
    run_ranks(ranks, [&](Rank& rank) {
      const Ref<nn::Module> model = make_perceptron(rank.device());
      const Ref<Sharded> sharded = shard(rank, *model, small_units(sharding));
      body(rank, *model);
    });
  }
}

// A change on the last of three ranks, between two steps, is told by the next backward.
void expect_told(const Change& change, const char* text, const char* other) {
  SCOPED_TRACE(text);
  with_every_sharding(3, [&](Rank& rank, nn::Module& model) {
    const Ref<optim::AdamW> optimizer = make_settable(model, kSettings, {});
    const Part part = Part::of(0, rank.number(), 3);
    run_backward_of(perceptron_loss(model, rank.device(), part));
    optimizer->step();
    optimizer->zero_grad();
    if (rank.number() == 2) change(*optimizer);
    const Error error = error_of_backward(model, rank);
    EXPECT_EQ(error.code(), Code::kComm) << error.what();
    EXPECT_TRUE(contains(error, "rank 2 differs from that of rank 0")) << error.what();
    EXPECT_TRUE(contains(error, text)) << error.what();
    EXPECT_TRUE(contains(error, other)) << error.what();
    EXPECT_FALSE(optimizer->parameters()[0].parameter().has_shard_grad());
  });
}

TEST(StepSettings, D26_ALearningRateOfOneRankIsToldByTheNextBackward) {
  expect_told([](optim::AdamW& optimizer) { optimizer.set_lr(0, 0.25); }, "lr=0.25 where", "lr=0.005");
}

TEST(StepSettings, EverySettingOfAGroupIsCompared) {
  AdamwGroup changed = kSettings;
  changed.beta2 = 0.5;
  expect_told([&](optim::AdamW& optimizer) { optimizer.set_group_settings(0, changed); }, "beta2=0.5", "beta2=0.999");
  changed = kSettings;
  changed.weight_decay = 0.25;
  expect_told([&](optim::AdamW& optimizer) { optimizer.set_group_settings(0, changed); }, "decay=0.25", "decay=0.1");
}

TEST(StepSettings, SchedulesPositionsAndClipsAreCompared) {
  optim::ScheduleRule rule;
  rule.schedule.warmup_steps = 8;
  expect_told([&](optim::AdamW& optimizer) { optimizer.set_schedule(rule); }, "warmup_steps=8", "warmup_steps=0");
  expect_told([](optim::AdamW& optimizer) { optimizer.set_step_count(7); }, "step=7", "step=1");
  expect_told([](optim::AdamW& optimizer) { optimizer.gradients().set_clip_value(0.5); }, "clip_grad_value=0.5",
              "value=0");
}

TEST(StepSettings, KindsAndDtypesOfOptimizersAreCompared) {
  with_every_sharding(2, [](Rank& rank, nn::Module& model) {
    const Ref<optim::Optimizer> optimizer = rank.number() == 0 ? make_sgd(model) : make_adamw(model);
    const Error error = error_of_backward(model, rank);
    EXPECT_TRUE(contains(error, "kind=adamw where rank 0 has optimizer group 0 kind=sgd")) << error.what();
  });
  with_every_sharding(2, [](Rank& rank, nn::Module& model) {
    const optim::Precision precision = {.moment1_dtype = rank.number() == 0 ? DType::kF32 : DType::kBF16};
    const Ref<optim::AdamW> optimizer = make_settable(model, kSettings, precision);
    const Error error = error_of_backward(model, rank);
    EXPECT_TRUE(contains(error, "moment1_dtype=bf16 where")) << error.what();
  });
  with_every_sharding(2, [](Rank& rank, nn::Module& model) {
    const optim::Precision precision = {.min_8bit_size = rank.number() == 0 ? 0 : 4096};
    const Ref<optim::AdamW> optimizer = make_settable(model, kSettings, precision);
    const Error error = error_of_backward(model, rank);
    EXPECT_TRUE(contains(error, "min_8bit_size=4096 where")) << error.what();
  });
}

TEST(StepSettings, D26_TrainingGoesOnWhereTheSettingsAreEqualAgain) {
  with_every_sharding(2, [](Rank& rank, nn::Module& model) {
    const Ref<optim::AdamW> optimizer = make_settable(model, kSettings, {});
    if (rank.number() == 1) optimizer->set_lr(0, 0.25);
    EXPECT_EQ(error_of_backward(model, rank).code(), Code::kComm);
    optimizer->set_lr(0, 0.125);
    optimizer->zero_grad();
    run_backward_of(perceptron_loss(model, rank.device(), Part::of(0, rank.number(), 2)));
    optimizer->step();
    EXPECT_EQ(optimizer->step_count(), 1);
  });
}

// Ranks 2 and 3 are the second group.
TEST(StepSettings, HybridShardingComparesAllGroups) {
  const OwnedStore store = create_memory_store();
  run_ranks(4, [&](Rank& world) {
    const HybridGroups groups(world, *store);
    const Ref<nn::Module> model = make_perceptron(world.device());
    const Ref<Sharded> sharded =
        Sharded::create(*groups.shards, groups.replicas.get(), *model, small_units(Sharding::kFull));
    const Ref<optim::AdamW> optimizer = make_settable(*model, kSettings, {});
    if (world.number() == 3) optimizer->set_lr(0, 0.25);
    const Error error = error_of_backward(*model, world);
    EXPECT_TRUE(contains(error, "rank 3 differs from that of rank 0")) << error.what();
    EXPECT_TRUE(contains(error, "lr=0.25")) << error.what();
  });
}

// The options of the second group differ from those of the first.
TEST(StepSettings, HybridShardingNamesOtherOptionsOfAnotherGroup) {
  const OwnedStore store = create_memory_store();
  run_ranks(4, [&](Rank& world) {
    const HybridGroups groups(world, *store);
    const Ref<nn::Module> model = make_perceptron(world.device());
    ShardedOptions options = small_units(Sharding::kFull);
    options.most_units = world.number() < 2 ? 2 : 3;
    const Error error = error_of([&] { Sharded::create(*groups.shards, groups.replicas.get(), *model, options); });
    EXPECT_TRUE(contains(error, "the model of rank 2 differs")) << error.what();
  });
}

TEST(StepSettings, BatchesOfOtherSizesAreToldIfTheOptionIsSet) {
  for (const bool compares : {false, true}) {
    run_ranks(2, [&](Rank& rank) {
      const Ref<nn::Module> model = make_perceptron(rank.device());
      ReplicateOptions options = small_buckets();
      options.compares_batches = compares;
      const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
      // Forwards that are averaged together count together.
      const auto backward = [&](int64_t rows) {
        run_backward_of(perceptron_loss(*model, rank.device(), {.step = 0, .begin = 0, .end = rows}));
      };
      replica->begin_no_sync();
      backward(rank.number() == 0 ? 4 : 2);
      replica->end_no_sync();
      backward(rank.number() == 0 ? 2 : 4);
      if (!compares) return backward(rank.number() == 0 ? 5 : 3);
      const Error error = error_of([&] { backward(rank.number() == 0 ? 5 : 3); });
      EXPECT_EQ(error.code(), Code::kComm);
      EXPECT_TRUE(contains(error, "rank 1 has 3 rows in the batch where rank 0 has 5 rows")) << error.what();
    });
  }
}

TEST(StepSettings, AShardedModelComparesBatchesToo) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    ShardedOptions options = small_units(Sharding::kFull);
    options.compares_batches = true;
    const Ref<Sharded> sharded = shard(rank, *model, options);
    const Error error = error_of([&] {
      run_backward_of(perceptron_loss(*model, rank.device(), {.step = 0, .begin = 0, .end = 3 + rank.number()}));
    });
    EXPECT_TRUE(contains(error, "4 rows in the batch where rank 0 has 3 rows")) << error.what();
  });
}

// Also in 16 bits, divided by a number of ranks that is no power of two.
TEST(StepSettings, AStatusArrivesInSixteenBits) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    run_ranks(3, [&](Rank& rank) {
      const Ref<nn::Module> model = make_perceptron(rank.device());
      ReplicateOptions options = small_buckets();
      if (dtype != DType::kF32) options.hook = narrow_average(dtype);
      const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
      const Ref<optim::AdamW> optimizer = make_settable(*model, kSettings, {});
      for (int step = 0; step < 64; ++step) {
        optimizer->set_lr(0, 0.001 * (step + 1));
        optimizer->zero_grad();
        run_backward_of(perceptron_loss(*model, rank.device(), Part::of(step, rank.number(), 3)));
      }
    });
  }
  for (const int32_t factor : {1, 3, 7}) {
    for (uint32_t digest = 1; digest < 1u << 24; digest = digest * 3 + 1) {
      const RankStatus status = {.state = kMissing | kNotFinite, .digest = digest};
      RankStatus::Numbers numbers = status.numbers();
      for (float& number : numbers) number /= static_cast<float>(factor);
      EXPECT_EQ(RankStatus::of(numbers.data(), factor).digest, digest);
      EXPECT_EQ(RankStatus::unpacked(status.packed()).digest, digest);
      EXPECT_EQ(RankStatus::unpacked(status.packed()).state, status.state);
    }
  }
}

}  // namespace
}  // namespace halftone::parallel
