// Sharded training that one number of ranks saves and another number resumes, under any sharding.
#include <filesystem>

#include "autograd/scope.h"
#include "ops/dispatch/autocast.h"
#include "optim/ema.h"
#include "optim/grad_scaler.h"
#include "parallel/shards.h"
#include "room_fixture.h"
#include "resume/sharded_ranks.h"

namespace halftone::resume {
namespace {

using parallel::Part;
using parallel::Sharded;
using parallel::ShardedOptions;
using parallel::Sharding;

constexpr int kMicrobatches = 8;  // of a step
constexpr optim::Precision kNarrowMoments = {.moment1_dtype = DType::kI8, .moment2_dtype = DType::kU8};

// The model of a rank with all that belongs to its training.
struct Training {
  Training(const ShardedRank& of, const std::string& folder, Sharding sharding,
           const optim::Precision& precision = kNarrowMoments, DType weight_dtype = DType::kF32)
      : rank(of),
        model(task.make_model(of.device())),
        scaler(make_ref<optim::GradScaler>(of.device(), ScalerSettings{}, 1024.0f, true)) {
    rank.context->set_generator(7, 0);  // dropout is that of the microbatch where the ranks have one seed
    ShardedOptions options = parallel::small_units(sharding);
    options.is_deterministic = true;
    options.weight_dtype = weight_dtype;
    if (weight_dtype != DType::kF32) policy = make_ref<AutocastPolicy>(DType::kBF16);
    sharded = Sharded::create(rank.group->process_group(), nullptr, *model, options, {rank.group});
    const AdamwGroup settings{.lr = 0.005, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};
    optimizer = make_ref<optim::AdamW>(optim::ParameterGroup{.parameters = model->parameters(), .precision = precision},
                                       settings);
    ema = make_ref<optim::Ema>(parallel::parameters_once(*model), optim::EmaSettings{.decay = 0.7, .warms_up = false});
    checkpoint = rank.open(folder, model);
    checkpoint->add("ema", ema);
    checkpoint->add("optimizer", optimizer);
    checkpoint->add("scaler", scaler);
  }

  void step(int number) {
    const ScopeGuard restore;
    scope().autocast = policy.get();
    optimizer->zero_grad();
    const int ranks = static_cast<int>(rank.size());
    for (int round = 0; round < kMicrobatches / ranks; ++round) {
      const Part part = Part::of(number, round * ranks + static_cast<int>(rank.rank()), kMicrobatches);
      const Tensor loss = ops::rescale(task.loss(*model, rank.device(), part), 1.0 / kMicrobatches, 0.0);
      parallel::run_backward_of(scaler->scale(loss));
    }
    scaler->step(*optimizer);
    scaler->update();
    ema->update();
  }
  std::vector<float> weights() const { return parallel::gathered_weights(*sharded, *model); }
  std::vector<float> averages() const {
    ema->swap();
    std::vector<float> all = weights();
    ema->swap();
    return all;
  }

  const parallel::Task task = parallel::language_model(0.1);
  const ShardedRank& rank;
  const Ref<nn::Module> model;
  const Ref<optim::GradScaler> scaler;
  Ref<AutocastPolicy> policy;
  Ref<Sharded> sharded;
  Ref<optim::Optimizer> optimizer;
  Ref<optim::Ema> ema;
  Ref<Checkpoint> checkpoint;
};

class ShardedResumeTest : public testing::Test {
 protected:
  ShardedResumeTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("halftone_resume_" + std::to_string(getpid()) + "_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
  }
  ~ShardedResumeTest() override { std::filesystem::remove_all(folder_); }

  // Two steps on four ranks, a checkpoint, and the third step.
  void save(Sharding sharding) {
    run_group(4, [&](const ShardedRank& rank) {
      Training run(rank, folder_, sharding, kNarrowMoments, weight_dtype_);
      run.step(0);
      run.step(1);
      run.checkpoint->save(2);
      const std::vector<float> saved = run.weights(), averages = run.averages();
      run.step(2);
      const std::vector<float> next = run.weights();
      if (rank.rank() > 0) return;
      saved_ = saved;
      averages_ = averages;
      next_ = next;
    });
  }
  void expect_resumed(int ranks, Sharding sharding) {
    run_group(ranks, [&](const ShardedRank& rank) {
      Training run(rank, folder_, sharding, kNarrowMoments, weight_dtype_);
      ASSERT_EQ(run.checkpoint->load(), 2);
      EXPECT_EQ(run.optimizer->step_count(), 2);
      EXPECT_EQ(run.weights(), saved_) << ranks;
      EXPECT_EQ(run.averages(), averages_) << ranks;
      EXPECT_NE(saved_, averages_);
      if (kMicrobatches % ranks != 0) return;
      run.step(2);
      EXPECT_EQ(run.weights(), next_) << ranks;
    });
  }

  std::string folder_;
  DType weight_dtype_ = DType::kF32;
  std::vector<float> saved_;
  std::vector<float> averages_;
  std::vector<float> next_;
};

TEST_F(ShardedResumeTest, FullShardsOfFourRanksGoOnOnAnyNumberUnderAnySharding) {
  save(Sharding::kFull);
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull}) {
    for (const int ranks : {1, 2, 3, 4, 8}) expect_resumed(ranks, sharding);
  }
}

TEST_F(ShardedResumeTest, SharedOptimizersGoOnAsFullShards) {
  save(Sharding::kOptimizer);
  expect_resumed(2, Sharding::kFull);
  expect_resumed(8, Sharding::kOptimizer);
}

// Checkpoints hold the masters, and the codes follow from them.
TEST_F(ShardedResumeTest, RanksThatSendWeightsAsCodesGoOnOnAnyNumber) {
  weight_dtype_ = DType::kF8E4M3;
  save(Sharding::kFull);
  for (const int ranks : {1, 2, 3, 8}) expect_resumed(ranks, Sharding::kFull);
}

TEST_F(ShardedResumeTest, SharedOptimizersThatSendWeightsAsCodesGoOn) {
  weight_dtype_ = DType::kF8E4M3;
  save(Sharding::kOptimizer);
  expect_resumed(2, Sharding::kGradients);
  expect_resumed(8, Sharding::kOptimizer);
}

// The ranks of the load keep FP32 moments of parameters that the ranks of the save kept in codes.
TEST_F(ShardedResumeTest, CodesOfSmallParametersBecomeNumbersOnAnyNumberOfRanks) {
  save(Sharding::kFull);
  optim::Precision wide = kNarrowMoments;
  wide.min_8bit_size = int64_t{1} << 40;
  std::vector<float> first;
  for (const int ranks : {1, 2, 4}) {
    run_group(ranks, [&](const ShardedRank& rank) {
      Training run(rank, folder_, Sharding::kFull, wide);
      ASSERT_EQ(run.checkpoint->load(), 2);
      run.step(2);
      const std::vector<float> next = run.weights();
      if (rank.rank() > 0) return;
      if (first.empty()) first = next;
      EXPECT_EQ(next, first) << ranks;
    });
  }
  EXPECT_NE(first, saved_);
}

}  // namespace
}  // namespace halftone::resume
