// Ranks that train on parts of the batches are like one rank that trains on the whole batches.
#include "parallel/replicated_training.h"

namespace halftone::parallel {
namespace {

class ReplicateTrainingTest : public testing::TestWithParam<int> {
 protected:
  static void expect_like_one_rank(const Task& task, MakeOptimizer make_optimizer, double tolerance) {
    const std::vector<float> expected = train_alone(task, make_optimizer);
    const Ref<Context> context = make_rank_context();
    const double progress = relative_difference(expected, weights_of(*task.make_model(context->device("cpu"))));
    EXPECT_GT(progress, 100 * tolerance) << "the training must change the weights";
    std::vector<std::vector<float>> weights(static_cast<size_t>(GetParam()));
    run_ranks(GetParam(), [&](Rank& rank) {
      weights[static_cast<size_t>(rank.number())] = train_replicated(rank, task, make_optimizer);
    });
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
