// Ranks that train on parts of the batches are like one rank that trains on the whole batches.
#include <string>

#include "parallel/sync_batch_norm.h"
#include "replicas.h"

namespace halftone::parallel {
namespace {

constexpr int kSteps = 20;

std::vector<float> train_alone(const Task& task, MakeOptimizer make_optimizer) {
  const Ref<Context> context = make_rank_context();
  ContextDevice& device = context->device("cpu");
  const Ref<nn::Module> model = task.make_model(device);
  const Ref<optim::Optimizer> optimizer = make_optimizer(*model);
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    run_backward_of(task.loss(*model, device, Part::of(step, 0, 1)));
    optimizer->step();
  }
  return weights_of(*model);
}

std::vector<float> train(Rank& rank, const Task& task, MakeOptimizer make_optimizer) {
  const Ref<nn::Module> model = task.make_model(rank.device());
  // Only rank 0 has the model's weights.
  if (rank.number() > 0) fill(model->parameters()[0].parameter->master(), 1.0 + rank.number());
  if (task.has_batch_norm) synchronize_batch_norm(*model, *rank.group);
  const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
  const Ref<optim::Optimizer> optimizer = make_optimizer(*model);
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    run_backward_of(task.loss(*model, rank.device(), Part::of(step, rank.number(), rank.group->size())));
    optimizer->step();
  }
  return weights_of(*model);
}

class ReplicateTrainingTest : public testing::TestWithParam<int> {
 protected:
  static void expect_like_one_rank(const Task& task, MakeOptimizer make_optimizer, double tolerance) {
    const std::vector<float> expected = train_alone(task, make_optimizer);
    const Ref<Context> context = make_rank_context();
    const double progress = relative_difference(expected, weights_of(*task.make_model(context->device("cpu"))));
    EXPECT_GT(progress, 100 * tolerance) << "the training must change the weights";
    std::vector<std::vector<float>> weights(static_cast<size_t>(GetParam()));
    run_ranks(GetParam(),
              [&](Rank& rank) { weights[static_cast<size_t>(rank.number())] = train(rank, task, make_optimizer); });
    for (const std::vector<float>& own : weights) EXPECT_EQ(own, weights[0]) << "ranks must be bitwise equal";
    ASSERT_EQ(weights[0].size(), expected.size());
    const double difference = relative_difference(weights[0], expected);
    RecordProperty("relative_difference", std::to_string(difference * 1e9) + "e-9");
    EXPECT_LE(difference, tolerance);
  }
};

TEST_P(ReplicateTrainingTest, APerceptronWithSgdIsLikeOneRank) { expect_like_one_rank(perceptron(), make_sgd, 1e-6); }

TEST_P(ReplicateTrainingTest, APerceptronWithAdamwIsLikeOneRank) {
  expect_like_one_rank(perceptron(), make_adamw, 1e-4);
}

TEST_P(ReplicateTrainingTest, ALanguageModelWithSgdIsLikeOneRank) {
  expect_like_one_rank(language_model(), make_sgd, 1e-6);
}

TEST_P(ReplicateTrainingTest, ALanguageModelWithAdamwIsLikeOneRank) {
  expect_like_one_rank(language_model(), make_adamw, 1e-4);
}

TEST_P(ReplicateTrainingTest, AnImageModelWithSynchronizedBatchNormIsLikeOneRank) {
  expect_like_one_rank(image_model(), make_sgd, 1e-6);
}

TEST_P(ReplicateTrainingTest, AnImageModelWithAdamwIsLikeOneRank) {
  expect_like_one_rank(image_model(), make_adamw, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ReplicateTrainingTest, testing::Values(2, 3, 4, 8), testing::PrintToStringParamName());

}  // namespace
}  // namespace halftone::parallel
