// Bytes that a rank holds and sends, by the counters of the allocator and of the group.
#include <span>

#include "autograd/scope.h"
#include "autograd/weights/weights.h"
#include "ops/dispatch/autocast.h"
#include "parallel/rounds/gradient_buckets.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

constexpr int64_t kWidth = 512;
constexpr int kLayers = 6;
constexpr int64_t kParameters = kLayers * (kWidth + 1) * kWidth;

Ref<nn::Module> make_layers(ContextDevice& device) {
  std::vector<Ref<nn::Module>> layers;
  for (int i = 0; i < kLayers; ++i) {
    layers.push_back(make_ref<nn::Linear>(device, kWidth, kWidth, true, DType::kF32));
  }
  return make_ref<nn::Sequential>(std::move(layers));
}

Tensor loss_of(const nn::Module& model, ContextDevice& device) {
  return ops::sum(model.run(full(device, DType::kF32, {1, kWidth}, 0.01)), {}, false);
}

int64_t bytes_of(ContextDevice& device, Category category) {
  return device.allocator->stats().by_category[static_cast<int>(category)];
}

void expect_within(int64_t actual, double expected, double share, const char* what) {
  EXPECT_LE(std::abs(static_cast<double>(actual) - expected), share * expected)
      << what << ": " << actual << ", expected " << expected;
}

struct Expected {
  Sharding sharding;
  double parameters, gradients, state;  // in bytes a parameter
  double sent;                          // in a step, in bytes a parameter for each other rank's part
  // For weights and gradients in messages.
  DType wire = DType::kF32;
  optim::Precision precision = {};
};

Ref<optim::Optimizer> make_optimizer(const nn::Module& model, const optim::Precision& precision) {
  const AdamwGroup settings{.lr = 0.005, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};
  return make_ref<optim::AdamW>(optim::ParameterGroup{.parameters = model.parameters(), .precision = precision},
                                settings);
}

class ShardedMemoryTest : public testing::TestWithParam<int> {
 protected:
  static void expect_bytes(Rank& rank, const Expected& expected) {
    ContextDevice& device = rank.device();
    const Ref<nn::Module> model = make_layers(device);
    ShardedOptions options = small_units(expected.sharding);
    options.weight_dtype = expected.wire;
    options.wire_dtype = expected.wire;
    const Ref<Sharded> sharded = shard(rank, *model, options);
    const Ref<optim::Optimizer> optimizer = make_optimizer(*model, expected.precision);
    const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(expected.wire);
    const auto step = [&] {
      const ScopeGuard restore;
      scope().autocast = policy.get();
      optimizer->zero_grad();
      run_backward_of(loss_of(*model, device));
      optimizer->step();
    };
    step();
    settle(*model);
    expect_within(bytes_of(device, Category::kParameters), expected.parameters * kParameters, 0.03, "parameters");
    expect_within(bytes_of(device, Category::kGradients), expected.gradients * kParameters, 0.03, "gradients");
    expect_within(bytes_of(device, Category::kOptimizer), expected.state * kParameters, 0.03, "state");
    const int64_t before = rank.group->counters().bytes_sent;
    step();
    settle(*model);
    const int size = rank.group->size();
    expect_within(rank.group->counters().bytes_sent - before, expected.sent * kParameters * (size - 1) / size, 0.02,
                  "sent");
  }
  static void expect_bytes_of_all(std::span<const Expected> cases) {
    for (const Expected& expected : cases) {
      SCOPED_TRACE(static_cast<int>(expected.sharding));
      run_ranks(GetParam(), [&](Rank& rank) { expect_bytes(rank, expected); });
    }
  }
};

// 8P + 8P/N, 4P + 12P/N and 16P/N; 2P(N-1)/N and 3P(N-1)/N on the wire.
TEST_P(ShardedMemoryTest, ARankHoldsAndSendsWhatItsShardingPromises) {
  const double ranks = GetParam();
  const Expected cases[] = {{Sharding::kOptimizer, 4, 4, 8 / ranks, 8},
                            {Sharding::kGradients, 4, 4 / ranks, 8 / ranks, 8},
                            {Sharding::kFull, 4 / ranks, 4 / ranks, 8 / ranks, 12}};
  expect_bytes_of_all(cases);
}

// FP32 masters, gradients and moments, and weights of BF16 beside them.
TEST_P(ShardedMemoryTest, LikewiseWithWeightsAndMessagesInBf16) {
  const double ranks = GetParam();
  const Expected cases[] = {{Sharding::kOptimizer, 2 + 4 / ranks, 4, 8 / ranks, 4, DType::kBF16},
                            {Sharding::kGradients, 2 + 4 / ranks, 4 / ranks, 8 / ranks, 4, DType::kBF16},
                            {Sharding::kFull, 4 / ranks, 4 / ranks, 8 / ranks, 6, DType::kBF16}};
  expect_bytes_of_all(cases);
}

// Masters of a BF16 part and 16 bits that it lacks, BF16 gradients, and moments of 8 bits with a scale for each block.
TEST_P(ShardedMemoryTest, LikewiseWithSplitMastersAndMomentsOfEightBits) {
  const double ranks = GetParam();
  const optim::Precision narrow = {.compute_dtype = DType::kBF16,
                                   .grad_dtype = DType::kBF16,
                                   .moment1_dtype = DType::kI8,
                                   .master = optim::Master::kSplit,
                                   .moment2_dtype = DType::kU8};
  const double state = (2 + 2 * (1 + 4.0 / 256)) / ranks;
  const Expected cases[] = {{Sharding::kOptimizer, 2 + 2 / ranks, 2, state, 4, DType::kBF16, narrow},
                            {Sharding::kGradients, 2 + 2 / ranks, 2 / ranks, state, 4, DType::kBF16, narrow},
                            {Sharding::kFull, 2 / ranks, 2 / ranks, state, 6, DType::kBF16, narrow}};
  expect_bytes_of_all(cases);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShardedMemoryTest, testing::Values(2, 4), testing::PrintToStringParamName());

// The units that are there at once: the one in use, and one that is gathered early.
TEST(ShardedPeak, FullShardingAddsTheUnitsInFlight) {
  run_ranks(4, [](Rank& rank) {
    ContextDevice& device = rank.device();
    const Ref<nn::Module> model = make_layers(device);
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kFull));
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    for (int step = 0; step < 2; ++step) {
      device.allocator->reset_peak();
      optimizer->zero_grad();
      run_backward_of(loss_of(*model, device));
      optimizer->step();
      const int64_t unit = 4 * kParameters / kLayers;
      const int64_t kept = 4 * kParameters / 4;
      const MemoryStats stats = device.allocator->stats();
      EXPECT_LE(stats.peak_by_category[static_cast<int>(Category::kParameters)], kept + 2 * unit + unit / 10) << step;
      // Buckets are those of the units.
      EXPECT_LE(stats.peak_by_category[static_cast<int>(Category::kGradients)], kept + 3 * unit) << step;
    }
  });
}

// The device "meta" and its group tell what a rank of any number holds and sends, without the others.
TEST(ShardedPlan, IsWhatARankHoldsAndSends) {
  struct Use {
    int64_t peak, sent;
    bool operator==(const Use&) const = default;
  };
  const auto use_of = [](ContextDevice& device, ProcessGroup& group, const ShardedOptions& options) {
    const ScopeGuard restore;
    const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(DType::kBF16);
    if (options.weight_dtype != DType::kF32) scope().autocast = policy.get();
    scope().defers_weights = true;
    const Ref<nn::Module> model = make_layers(device);
    scope().defers_weights = false;
    const Ref<Sharded> sharded = Sharded::create(group, nullptr, *model, options);
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    const int64_t before = group.counters().bytes_sent;
    for (int step = 0; step < 2; ++step) {
      optimizer->zero_grad();
      run_backward_of(loss_of(*model, device));
      optimizer->step();
    }
    settle(*model);
    return Use{.peak = device.allocator->stats().peak, .sent = group.counters().bytes_sent - before};
  };
  constexpr int kRanks = 4;
  std::vector<ShardedOptions> cases = {small_units(Sharding::kOptimizer), small_units(Sharding::kGradients),
                                       small_units(Sharding::kFull), small_units(Sharding::kFull),
                                       small_units(Sharding::kFull)};
  cases[3].wire_dtype = DType::kF8E5M2;
  cases[4].weight_dtype = DType::kF8E4M3;
  for (const ShardedOptions& options : cases) {
    run_ranks(kRanks, [&](Rank& rank) {
      const Use used = use_of(rank.device(), *rank.group, options);
      const Ref<Context> context = make_rank_context();
      ContextDevice& meta = context->device("meta");
      const OwnedGroup group =
          create_group("meta", *context, {.device = meta.device, .rank = rank.number(), .size = kRanks});
      const Use planned = use_of(meta, *group, options);
      EXPECT_EQ(planned.peak, used.peak) << static_cast<int>(options.sharding);
      expect_within(planned.sent, static_cast<double>(used.sent), 0.01, "sent");
    });
  }
}

// A model that is only described is made one parameter at a time, beside the unit that the parameter belongs to.
TEST(ShardedPeak, CreationNeverHoldsTheWholeModel) {
  run_ranks(4, [](Rank& rank) {
    ContextDevice& device = rank.device();
    scope().defers_weights = true;
    const Ref<nn::Module> model = make_layers(device);
    scope().defers_weights = false;
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kFull));
    const int64_t unit = 4 * kParameters / kLayers, kept = 4 * kParameters / 4;
    const MemoryStats stats = device.allocator->stats();
    EXPECT_LE(stats.peak_by_category[static_cast<int>(Category::kParameters)], kept + 2 * unit + unit / 10);
    EXPECT_LE(stats.peak, kept + 4 * unit) << "messages included";
    const Ref<Context> other = make_rank_context();
    const Ref<nn::Module> whole = make_layers(other->device("cpu"));
    std::vector<float> expected;
    for (const NamedParameter& named : parameters_once(*whole)) {
      const std::vector<float> values = values_of(named.parameter->weights().tensor());
      expected.insert(expected.end(), values.begin(), values.end());
    }
    EXPECT_EQ(gathered_weights(*sharded, *model), expected);
  });
}

// A model that a limit of bytes refuses on one rank trains on four.
TEST(ShardedPeak, FourRanksTrainWhatOneCannot) {
  const int64_t limit = 10 * kParameters;
  const auto train_under_limit = [&](Rank& rank) {
    const Ref<nn::Module> model = make_layers(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kFull));
    rank.device().allocator->set_limit(limit);
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    for (int step = 0; step < 2; ++step) {
      optimizer->zero_grad();
      run_backward_of(loss_of(*model, rank.device()));
      optimizer->step();
    }
  };
  run_ranks(1, [&](Rank& rank) {
    EXPECT_EQ(error_of([&] { train_under_limit(rank); }).code(), Code::kOutOfMemory);
    rank.device().allocator->set_limit(0);
  });
  run_ranks(4, [&](Rank& rank) {
    EXPECT_NO_THROW(train_under_limit(rank));
    rank.device().allocator->set_limit(0);
  });
}

}  // namespace
}  // namespace halftone::parallel
