// Data-parallel training over NCCL: ranks with a GPU each are like one rank on the CPU, and no step waits for a GPU.
#include <barrier>

#include "device_ranks.h"
#include "parallel/replicated_training.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

int rank_count(int wanted) { return std::min(wanted, device_count()); }

using Train = std::function<std::vector<float>(Rank& rank)>;

void expect_like_one_rank(int size, const std::vector<float>& expected, double tolerance, const Train& train) {
  std::vector<std::vector<float>> weights(static_cast<size_t>(size));
  run_gpu_ranks(size, [&](Rank& rank) { weights[static_cast<size_t>(rank.number())] = train(rank); });
  for (const std::vector<float>& own : weights) EXPECT_EQ(own, weights[0]) << "ranks must be bitwise equal";
  ASSERT_EQ(weights[0].size(), expected.size());
  EXPECT_LE(relative_difference(weights[0], expected), tolerance);
}

TEST(NcclTraining, ReplicasOfAPerceptronAreLikeOneRank) {
  expect_like_one_rank(rank_count(2), train_alone(perceptron(), make_sgd), 1e-5,
                       [](Rank& rank) { return train_replicated(rank, perceptron(), make_sgd); });
}

TEST(NcclTraining, ReplicasOfAnImageModelWithSynchronizedBatchNormAreLikeOneRank) {
  expect_like_one_rank(rank_count(2), train_alone(image_model(), make_sgd), 1e-5,
                       [](Rank& rank) { return train_replicated(rank, image_model(), make_sgd); });
}

class NcclShards : public testing::TestWithParam<Sharding> {};

TEST_P(NcclShards, OfAPerceptronAreLikeOneRank) {
  expect_like_one_rank(rank_count(3), train_whole(perceptron(), make_adamw), 1e-4, [](Rank& rank) {
    return train_sharded(rank, perceptron(), make_adamw, small_units(GetParam()));
  });
}

std::string name_of_kind(const testing::TestParamInfo<Sharding>& info) {
  const char* names[] = {"", "optimizer", "gradients", "full"};
  return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Kinds, NcclShards,
                         testing::Values(Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull), name_of_kind);

// The waits of all ranks in their last steps: the first ones make memory and agree on the order of buckets. Few steps:
// transfers to the device wait where very many are under way, and the emulated GPU hardly works by itself.
int64_t waits_in_steps(int size, const std::function<std::function<void(int step)>(Rank& rank)>& prepare) {
  constexpr int kFirst = 3, kLast = 6;
  std::barrier<> together(size);
  std::atomic<int64_t> waits{0};
  run_gpu_ranks(size, [&](Rank& rank) {
    const std::function<void(int)> run_step = prepare(rank);
    for (int step = 0; step < kFirst; ++step) run_step(step);
    EXPECT_TRUE(rank.device().device->stream().synchronize().ok());
    together.arrive_and_wait();
    const int64_t before = cuda_waits();
    together.arrive_and_wait();
    for (int step = kFirst; step < kLast; ++step) run_step(step);
    together.arrive_and_wait();
    if (rank.number() == 0) waits = cuda_waits() - before;
    together.arrive_and_wait();
  });
  return waits;
}

TEST(NcclTraining, AStepOfReplicasDoesNotWait) {
  const Task task = perceptron();
  const int64_t waits = waits_in_steps(rank_count(2), [&](Rank& rank) {
    const Ref<nn::Module> model = task.make_model(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    return [&task, &rank, model, replica, optimizer](int step) {
      plain_step(task, *model, rank.device(), *optimizer, Part::of(step, rank.number(), rank.group->size()));
    };
  });
  EXPECT_EQ(waits, 0);
}

class NcclShardSteps : public testing::TestWithParam<Sharding> {};

TEST_P(NcclShardSteps, DoNotWait) {
  const Task task = perceptron();
  const int64_t waits = waits_in_steps(rank_count(2), [&](Rank& rank) {
    const Ref<nn::Module> model = task.make_model(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, small_units(GetParam()));
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    return [&task, &rank, model, sharded, optimizer](int step) {
      plain_step(task, *model, rank.device(), *optimizer, Part::of(step, rank.number(), rank.group->size()));
    };
  });
  EXPECT_EQ(waits, 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NcclShardSteps,
                         testing::Values(Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull), name_of_kind);

// The rank that fails throws at once, and the others in a later backward, whose states have arrived by then.
TEST(NcclTraining, ABackwardThatLacksGradientsIsAnErrorOfAllRanks) {
  if (device_count() < 2) GTEST_SKIP() << "skipped: there is one GPU";
  run_gpu_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> first = make_ref<nn::Linear>(rank.device(), kFeatures, kTargets, true, DType::kF32);
    const Ref<nn::Module> second = make_ref<nn::Linear>(rank.device(), kTargets, kTargets, true, DType::kF32);
    const Ref<nn::Module> model = make_ref<nn::Sequential>(std::vector<Ref<nn::Module>>{first, second});
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    const auto backward = [&](int step) {
      run_backward_of(perceptron_loss(*model, rank.device(), Part::of(step, rank.number(), 2)));
    };
    const auto partial_backward = [&] {
      run_backward_of(perceptron_loss(*first, rank.device(), Part::of(1, rank.number(), 2)));
    };
    backward(0);
    if (rank.number() == 1) {
      const Error error = error_of(partial_backward);
      EXPECT_EQ(error.code(), Code::kState) << error.what();
      EXPECT_TRUE(contains(error, "reached no gradient of 1.weight, 1.bias on rank 1")) << error.what();
      return;
    }
    backward(1);
    EXPECT_TRUE(rank.device().device->stream().synchronize().ok());
    const Error error = error_of([&] { backward(2); });
    EXPECT_EQ(error.code(), Code::kState) << error.what();
    EXPECT_TRUE(contains(error, "backward 2 of rank 1 reached no gradient of some parameters")) << error.what();
  });
}

// The digests of the settings arrive with the states, so that all ranks learn of a difference in a later backward.
TEST(NcclTraining, OptimizersOfOtherSettingsAreAnErrorOfAllRanks) {
  if (device_count() < 2) GTEST_SKIP() << "skipped: there is one GPU";
  run_gpu_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    const auto backward = [&](int step) {
      run_backward_of(perceptron_loss(*model, rank.device(), Part::of(step, rank.number(), 2)));
    };
    backward(0);
    if (rank.number() == 1) optimizer->set_lr(0, 0.25);
    backward(1);
    EXPECT_TRUE(rank.device().device->stream().synchronize().ok());
    const Error error = error_of([&] { backward(2); });
    EXPECT_EQ(error.code(), Code::kComm) << error.what();
    EXPECT_TRUE(contains(error, "backward 2: ranks 0 and 1 have optimizers of other settings")) << error.what();
  });
}

}  // namespace
}  // namespace halftone::parallel
