// Optimizers of several ranks that each update a shard of every parameter, against one that updates all of it. Ranks
// are threads with contexts of their own.
#include <algorithm>
#include <barrier>
#include <limits>
#include <random>
#include <thread>

#include "optim/adamw.h"
#include "optim/grad_scaler.h"
#include "optim/rmsprop.h"
#include "room_fixture.h"
#include "tensor/launch.h"

namespace halftone::optim {
namespace {

constexpr int64_t kSizes[] = {5 * kBlockSize + 17, 64 * kBlockSize, 201 * kBlockSize + 1};
constexpr AdamwGroup kSettings = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1};
constexpr RmspropGroup kRmsprop = {
    .lr = 1e-2, .alpha = 0.99, .epsilon = 1e-3, .weight_decay = 0.1, .momentum = 0.9, .centered = 1, .reserved = 0};

// The checks of all ranks, brought together as an all-gather would.
class Exchange {
 public:
  explicit Exchange(int ranks) : barrier_(ranks), checks_(static_cast<size_t>(ranks)) {}

  void reduce(int rank, ContextDevice& device, const Optimizer::GradientCheck& check) {
    Check& own = checks_[static_cast<size_t>(rank)];
    own.nodes = check.nodes;
    own.partials.resize(check.nodes.size());
    read_to_host(check.partials, DType::kF64, own.partials.data());
    own.found_inf = check.state->found_inf;
    barrier_.arrive_and_wait();
    std::vector<std::pair<NormNode, double>> all;
    for (const Check& other : checks_) {
      for (size_t i = 0; i < other.nodes.size(); ++i) all.emplace_back(other.nodes[i], other.partials[i]);
      check.state->found_inf = std::max(check.state->found_inf, other.found_inf);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first.parameter, a.first.first_block) < std::pair(b.first.parameter, b.first.first_block);
    });
    std::vector<NormNode> nodes;
    std::vector<double> partials;
    for (const auto& [node, partial] : all) {
      nodes.push_back(node);
      partials.push_back(partial);
    }
    launch("sum_norm", device, &Kernels::optim, &OptimKernels::sum_norm, nodes.data(), partials.data(),
           static_cast<int64_t>(nodes.size()), check.state);
    barrier_.arrive_and_wait();
  }

 private:
  struct Check {
    std::vector<NormNode> nodes;
    std::vector<double> partials;
    float found_inf = 0.0f;
  };
  std::barrier<> barrier_;
  std::vector<Check> checks_;
};

Shard shard_of(int64_t size, int rank, int ranks) {
  const int64_t blocks = (size + kBlockSize - 1) / kBlockSize;
  const auto cut = [&](int64_t k) { return std::min(blocks * k / ranks * kBlockSize, size); };
  return {.begin = cut(rank), .end = cut(rank + 1)};
}

class ShardedStepTest : public RoomTest {
 protected:
  static std::vector<float> random_values(uint32_t seed, int64_t size) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(size));
    for (float& value : values) value = normal(random);
    return values;
  }

  struct Result {
    std::vector<std::vector<float>> weights;  // of the shard alone, by parameter
    double norm = 0;
    int64_t moment_bytes = 0;
  };

  // Three steps under a scaler with clipping; in the second, one element of the last parameter is infinite.
  template <class Rule>
  static Result train(const typename Rule::Group& settings, int rank, int ranks, const Precision& precision,
                      Exchange* exchange) {
    const Ref<Context> context = make_ref<Context>(options());
    ContextDevice& device = context->device("cpu");
    ParameterGroup group{.parameters = {}, .precision = precision};
    for (size_t k = 0; k < std::size(kSizes); ++k) {
      const std::vector<float> initial = random_values(static_cast<uint32_t>(k), kSizes[k]);
      auto parameter = make_ref<Parameter>("weight", from_host(device, DType::kF32, {kSizes[k]}, initial.data()));
      parameter->set_shard(shard_of(kSizes[k], rank, ranks));
      group.parameters.push_back({"weight", parameter});
    }
    const auto bytes = [&] { return device.allocator->stats().by_category[static_cast<int>(Category::kOptimizer)]; };
    Result result;
    group.moment_memory = [&](const Parameter& parameter, DType dtype, int64_t size) {
      result.moment_bytes += size * static_cast<int64_t>(size_of(dtype));
      return empty(parameter.device(), dtype, {size}, Category::kOptimizer);
    };
    const int64_t before = bytes();
    GroupedOptimizer<Rule> optimizer(group, settings);
    int64_t remainder_bytes = 0;
    for (const NamedParameter& named : group.parameters) {
      if (named.parameter->is_split()) remainder_bytes += 2 * numel(named.parameter->shape());
    }
    EXPECT_EQ(bytes() - before - remainder_bytes, result.moment_bytes + static_cast<int64_t>(sizeof(OptimizerState)));
    if (exchange != nullptr) {
      optimizer.set_check_hook([&](const auto& check) { exchange->reduce(rank, device, check); });
    }
    GradScaler scaler(device, {.growth_interval = 1}, 8.0f, true);
    for (uint32_t step = 0; step < 3; ++step) {
      for (size_t k = 0; k < std::size(kSizes); ++k) {
        std::vector<float> gradient = random_values(100 + 10 * step + static_cast<uint32_t>(k), kSizes[k]);
        if (step == 1 && k == 2) gradient[100] = std::numeric_limits<float>::infinity();
        group.parameters[k].parameter->accumulator().accumulate(
            from_host(device, DType::kF32, {kSizes[k]}, gradient.data()));
      }
      scaler.unscale(optimizer);
      optimizer.clip_grad_norm(1.0);
      result.norm = step == 2 ? optimizer.grad_norm() : 0;
      scaler.step(optimizer);
      EXPECT_EQ(optimizer.outcome().skipped, step == 1);
      // Element 100 of the last parameter is in rank 0's shard, and this exchange does not tell the others its name.
      EXPECT_EQ(optimizer.outcome().offending != nullptr, step == 1 && rank == 0);
      scaler.update();
      optimizer.zero_grad();
    }
    for (const NamedParameter& named : group.parameters) {
      const Shard& shard = named.parameter->shard();
      std::vector<float> all(static_cast<size_t>(named.parameter->read(DType::kF32).numel()));
      read_to_host(named.parameter->read(DType::kF32), DType::kF32, all.data());
      result.weights.emplace_back(all.begin() + shard.begin, all.begin() + shard.end);
    }
    return result;
  }

  template <class Rule>
  static void expect_equal_on(const typename Rule::Group& settings, int ranks, const Precision& precision) {
    const Result whole = train<Rule>(settings, 0, 1, precision, nullptr);
    Exchange exchange(ranks);
    std::vector<Result> parts(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back(
          [&, rank] { parts[static_cast<size_t>(rank)] = train<Rule>(settings, rank, ranks, precision, &exchange); });
    }
    for (std::thread& thread : threads) thread.join();
    int64_t moment_bytes = 0;
    std::vector<std::vector<float>> joined(std::size(kSizes));
    for (const Result& part : parts) {
      EXPECT_EQ(part.norm, whole.norm) << ranks;
      moment_bytes += part.moment_bytes;
      // A shard is at most a block more than its share, for each parameter.
      EXPECT_LE(part.moment_bytes, whole.moment_bytes / ranks + 12 * kBlockSize * 3);
      for (size_t k = 0; k < joined.size(); ++k) {
        joined[k].insert(joined[k].end(), part.weights[k].begin(), part.weights[k].end());
      }
    }
    EXPECT_EQ(moment_bytes, whole.moment_bytes) << ranks;
    EXPECT_EQ(joined, whole.weights) << ranks;
  }
};

// N3: weights and norm are the same bits at every number of shards.
TEST_F(ShardedStepTest, UpdatesTheSameBitsOnEveryNumberOfRanks) {
  for (const int ranks : {2, 4, 8}) expect_equal_on<AdamWRule>(kSettings, ranks, {});
  for (const int ranks : {2, 4}) expect_equal_on<RmspropRule>(kRmsprop, ranks, {});
}

TEST_F(ShardedStepTest, UpdatesTheSameBitsWithNarrowMomentsAndSplitMasters) {
  const Precision narrow = {.compute_dtype = DType::kBF16,
                            .grad_dtype = DType::kBF16,
                            .moment1_dtype = DType::kI8,
                            .master = Master::kSplit,
                            .moment2_dtype = DType::kU8};
  for (const int ranks : {2, 4}) {
    expect_equal_on<AdamWRule>(kSettings, ranks, narrow);
    expect_equal_on<RmspropRule>(kRmsprop, ranks, narrow);
  }
}

// A rank's own gradient stays whole, while the optimizer uses the reduced one of the shard.
TEST_F(ShardedStepTest, AReducedGradientOfTheShardComesBeforeTheWholeOne) {
  const auto make = [&] { return make_ref<Parameter>("weight", full(device(), DType::kF32, {4 * kBlockSize}, 1.0)); };
  const Ref<Parameter> sharded = make();
  sharded->set_shard({.begin = kBlockSize, .end = 2 * kBlockSize});
  AdamW optimizer({.parameters = {{"weight", sharded}}, .precision = {}}, kSettings);
  sharded->accumulator().accumulate(full(device(), DType::kF32, {4 * kBlockSize}, -3.0));
  sharded->set_shard_grad(full(device(), DType::kF32, {kBlockSize}, 2.0));
  optimizer.step();
  const std::vector<double> updated = values(sharded->master());
  EXPECT_EQ(values(sharded->grad())[0], -3.0);
  for (int64_t i = 0; i < 4 * kBlockSize; ++i) {
    const bool is_own = i / kBlockSize == 1;
    // Decay and a first step of AdamW against a positive gradient.
    ASSERT_NEAR(updated[static_cast<size_t>(i)], is_own ? 1.0 - 1e-3 - 1e-2 : 1.0, 1e-6) << i;
  }
  optimizer.zero_grad();
  EXPECT_EQ(code_of([&] { optimizer.step(); }), Code::kState);
}

}  // namespace
}  // namespace halftone::optim
