// Optimizers of several ranks that each update a shard of every parameter, against one that updates all of it. Ranks
// are threads with contexts of their own.
#include <algorithm>
#include <barrier>
#include <limits>
#include <random>
#include <thread>

#include "autograd/placement/shard_ranks.h"
#include "autograd/weights/weights.h"
#include "optim/adamw.h"
#include "optim/grad_scaler.h"
#include "optim/rmsprop.h"
#include "optim/shared_parameter.h"
#include "room_fixture.h"
#include "runtime/context.h"

namespace halftone::optim {
namespace {

constexpr int64_t kSizes[] = {5 * kBlockSize + 17, 64 * kBlockSize, 201 * kBlockSize + 1};
constexpr AdamwGroup kSettings = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1};
constexpr RmspropGroup kRmsprop = {
    .lr = 1e-2, .alpha = 0.99, .epsilon = 1e-3, .weight_decay = 0.1, .momentum = 0.9, .centered = 1, .reserved = 0};

// The ranks of one group: threads that meet at a barrier.
class Meeting {
 public:
  explicit Meeting(int ranks) : barrier_(ranks), given_(static_cast<size_t>(ranks)) {}

  int32_t size() const { return static_cast<int32_t>(given_.size()); }
  void gather(int rank, const Tensor& own, const Tensor& all) {
    std::vector<uint8_t>& bytes = given_[static_cast<size_t>(rank)];
    bytes.resize(static_cast<size_t>(own.numel()));
    if (!bytes.empty()) read_to_host(own, DType::kU8, bytes.data());
    barrier_.arrive_and_wait();
    std::vector<uint8_t> joined;
    for (const std::vector<uint8_t>& each : given_) joined.insert(joined.end(), each.begin(), each.end());
    write_from_host(all, DType::kU8, joined.data());
    barrier_.arrive_and_wait();
  }

 private:
  std::barrier<> barrier_;
  std::vector<std::vector<uint8_t>> given_;
};

class ThreadRanks final : public ShardRanks {
 public:
  ThreadRanks(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int32_t size() const noexcept override { return meeting_.size(); }
  void gather(const Tensor& own, const Tensor& all) override { meeting_.gather(rank_, own, all); }
  void updated() override { ++updates; }

  int updates = 0;

 private:
  Meeting& meeting_;
  const int rank_;
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

  static Ref<Parameter> make_parameter(ContextDevice& device, const std::vector<float>& initial) {
    return make_ref<Parameter>("weight",
                               from_host(device, DType::kF32, {static_cast<int64_t>(initial.size())}, initial.data()));
  }

  // Three steps under a scaler with clipping; in the second, one element of the last parameter is infinite. Without a
  // meeting the parameters are whole.
  template <class Rule>
  static Result train(const typename Rule::Group& settings, int rank, int ranks, const Precision& precision,
                      Meeting* meeting) {
    const Ref<Context> context = make_ref<Context>(options());
    Ref<ThreadRanks> thread_ranks;
    if (meeting != nullptr) thread_ranks = make_ref<ThreadRanks>(*meeting, rank);
    ContextDevice& device = context->device("cpu");
    ParameterGroup group{.parameters = {}, .precision = precision};
    for (size_t k = 0; k < std::size(kSizes); ++k) {
      const std::vector<float> initial = random_values(static_cast<uint32_t>(k), kSizes[k]);
      const Ref<Parameter> parameter = make_parameter(device, initial);
      if (thread_ranks) share(parameter, shard_of(kSizes[k], rank, ranks), thread_ranks);
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
      if (named.parameter->weights().is_split()) remainder_bytes += 2 * named.parameter->weights().remainder().numel();
    }
    constexpr size_t kCounted = sizeof(OptimizerState) + std::size(kSizes) * sizeof(int64_t);
    EXPECT_EQ(bytes() - before - remainder_bytes, result.moment_bytes + static_cast<int64_t>(kCounted));
    GradScaler scaler(device, {.growth_interval = 1}, 8.0f, true);
    for (uint32_t step = 0; step < 3; ++step) {
      for (size_t k = 0; k < std::size(kSizes); ++k) {
        std::vector<float> gradient = random_values(100 + 10 * step + static_cast<uint32_t>(k), kSizes[k]);
        if (step == 1 && k == 2) gradient[100] = std::numeric_limits<float>::infinity();
        Parameter& parameter = *group.parameters[k].parameter;
        const Tensor grad = from_host(device, DType::kF32, {kSizes[k]}, gradient.data());
        if (!thread_ranks) {
          parameter.accumulator().accumulate(grad);
        } else {
          parameter.placement().set_shard_grad(
              converted(range_of(grad, parameter.placement().shard()), precision.grad_dtype));
        }
      }
      scaler.unscale(optimizer);
      optimizer.gradients().clip_norm(1.0);
      result.norm = step == 2 ? optimizer.gradients().norm() : 0;
      scaler.step(optimizer);
      const Optimizer::Outcome outcome = optimizer.outcome();
      EXPECT_EQ(outcome.skipped, step == 1);
      // Element 100 of the last parameter is in rank 0's shard, and all ranks name the parameter.
      EXPECT_EQ(outcome.offending != nullptr, step == 1);
      EXPECT_EQ(outcome.kind, step == 1 ? NotFinite::kInfinity : NotFinite::kNothing);
      scaler.update();
      optimizer.zero_grad();
    }
    for (const NamedParameter& named : group.parameters) {
      const Shard& shard = named.parameter->placement().shard();
      const Tensor own = empty(device, DType::kF32, {shard.end - shard.begin}, Category::kWorkspace);
      named.parameter->weights().read_range(0, own);
      result.weights.emplace_back(static_cast<size_t>(own.numel()));
      read_to_host(own, DType::kF32, result.weights.back().data());
    }
    EXPECT_EQ(thread_ranks ? thread_ranks->updates : 3, 3);
    return result;
  }

  template <class Rule>
  static void expect_equal_on(const typename Rule::Group& settings, int ranks, const Precision& precision) {
    const Result whole = train<Rule>(settings, 0, 1, precision, nullptr);
    Meeting meeting(ranks);
    std::vector<Result> parts(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back(
          [&, rank] { parts[static_cast<size_t>(rank)] = train<Rule>(settings, rank, ranks, precision, &meeting); });
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

// The size of the whole second parameter is the least that has codes, and that of its shards is less.
TEST_F(ShardedStepTest, TheWholeParameterDecidesWhetherMomentsAreCodes) {
  const Precision narrow = {.moment1_dtype = DType::kI8, .moment2_dtype = DType::kU8, .min_8bit_size = kSizes[1]};
  const int64_t blocks = (kSizes[2] + kBlockSize - 1) / kBlockSize + kSizes[1] / kBlockSize;
  const Result whole = train<AdamWRule>(kSettings, 0, 1, narrow, nullptr);
  EXPECT_EQ(whole.moment_bytes, 8 * kSizes[0] + 2 * (kSizes[1] + kSizes[2]) + 8 * blocks);
  for (const int ranks : {2, 4}) expect_equal_on<AdamWRule>(kSettings, ranks, narrow);
}

// The norm of all shards decides on all ranks, and each names the parameter with its largest part: the second, whose
// large elements are all in the last rank's shard.
TEST_F(ShardedStepTest, TheNormGuardDecidesEquallyOnAllRanks) {
  constexpr int kRanks = 2;
  constexpr int64_t kSize = 4 * kBlockSize;
  Meeting meeting(kRanks);
  const auto run = [&](int rank) {
    const Ref<Context> context = make_ref<Context>(options());
    ContextDevice& device = context->device("cpu");
    const Ref<ThreadRanks> ranks = make_ref<ThreadRanks>(meeting, rank);
    ParameterGroup group{.parameters = {}, .precision = {}};
    for (const char* name : {"first", "second"}) {
      const Ref<Parameter> parameter = make_parameter(device, std::vector<float>(kSize, 1.0f));
      share(parameter, shard_of(kSize, rank, kRanks), ranks);
      group.parameters.push_back({name, parameter});
    }
    AdamW optimizer(group, kSettings);
    optimizer.gradients().set_norm_guard({.max_ratio = 2, .decay = 0.5, .warmup_steps = 1});
    for (const bool is_large : {false, true}) {
      for (size_t k = 0; k < 2; ++k) {
        const Ref<Parameter>& parameter = group.parameters[k].parameter;
        const double value = is_large && rank == 1 ? static_cast<double>(10 + k) : 1.0;
        parameter->placement().set_shard_grad(full(device, DType::kF32, {kSize / kRanks}, value));
      }
      optimizer.step();
      const Optimizer::Outcome outcome = optimizer.outcome();
      EXPECT_EQ(outcome.skipped, is_large) << rank;
      EXPECT_EQ(outcome.exceeded, is_large) << rank;
      EXPECT_DOUBLE_EQ(outcome.norm, std::sqrt(is_large ? 223.0 * 512 : 2.0 * kSize)) << rank;
      EXPECT_STREQ(outcome.offending == nullptr ? "" : outcome.offending, is_large ? "second" : "") << rank;
    }
    EXPECT_EQ(optimizer.step_count(), 1);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

// Only what was reduced over the ranks counts.
TEST_F(ShardedStepTest, AShardIsUpdatedFromItsReducedGradientAlone) {
  Meeting meeting(1);
  const Ref<Parameter> weight = make_ref<Parameter>("weight", full(device(), DType::kF32, {4 * kBlockSize}, 1.0));
  share(weight, {.begin = kBlockSize, .end = 2 * kBlockSize}, make_ref<ThreadRanks>(meeting, 0));
  AdamW optimizer({.parameters = {{"weight", weight}}, .precision = {}}, kSettings);
  weight->accumulator().accumulate(full(device(), DType::kF32, {4 * kBlockSize}, -3.0));
  EXPECT_EQ(code_of([&] { optimizer.step(); }), Code::kState);
  weight->placement().set_shard_grad(full(device(), DType::kF32, {kBlockSize}, 2.0));
  optimizer.step();
  EXPECT_EQ(values(weight->grad())[0], -3.0);
  EXPECT_EQ(weight->weights().master().shape(), Shape{kBlockSize});
  // Decay and a first step of AdamW against a positive gradient.
  for (const double value : values(weight->weights().master())) ASSERT_NEAR(value, 1.0 - 1e-3 - 1e-2, 1e-6);
  EXPECT_EQ(values(weight->weights().tensor()), std::vector<double>(4 * kBlockSize, 1.0))
      << "the weights were not gathered";
  optimizer.zero_grad();
  EXPECT_EQ(code_of([&] { optimizer.step(); }), Code::kState);
}

TEST_F(ShardedStepTest, ParametersOfTwoShardedModelsNeedTwoOptimizers) {
  Meeting meeting(1);
  const auto make = [&] { return make_ref<Parameter>("weight", full(device(), DType::kF32, {kBlockSize}, 1.0)); };
  const Ref<Parameter> first = make(), second = make();
  share(first, {.begin = 0, .end = kBlockSize}, make_ref<ThreadRanks>(meeting, 0));
  share(second, {.begin = 0, .end = kBlockSize}, make_ref<ThreadRanks>(meeting, 0));
  const auto attempt = [&](const Ref<Parameter>& other) {
    return code_of([&] { AdamW({.parameters = {{"first", first}, {"other", other}}, .precision = {}}, kSettings); });
  };
  EXPECT_EQ(attempt(second), Code::kUnsupported);
  EXPECT_EQ(attempt(make()), Code::kUnsupported);
  AdamW optimizer({.parameters = {{"first", first}}, .precision = {}}, kSettings);
  EXPECT_EQ(code_of([&] {
              optimizer.add_group({.parameters = {{"other", second}}, .precision = {}}, kSettings);
            }),
            Code::kUnsupported);
}

TEST_F(ShardedStepTest, WeightsThatAreNotGatheredAreNotRead) {
  struct Restorer final : StorageRestorer {
    void restore() override { fail(Code::kState, "parameter", "not gathered"); }
  } restorer;
  Meeting meeting(1);
  const Ref<Parameter> weight = make_ref<Parameter>("weight", full(device(), DType::kF32, {kBlockSize}, 1.0));
  share(weight, {.begin = 0, .end = kBlockSize}, make_ref<ThreadRanks>(meeting, 0));
  weight->weights().tensor().storage()->set_restorer(&restorer);
  EXPECT_EQ(code_of([&] { static_cast<void>(weight->leaf()); }), Code::kState);
  EXPECT_EQ(code_of([&] { static_cast<void>(weight->leaf_in(DType::kBF16)); }), Code::kState);
  EXPECT_EQ(code_of([&] { static_cast<void>(weight->weights().read(DType::kF32)); }), Code::kState);
  weight->weights().tensor().storage()->set_restorer(nullptr);
  EXPECT_EQ(values(weight->weights().read(DType::kF32)), std::vector<double>(kBlockSize, 1.0));
}

}  // namespace
}  // namespace halftone::optim
