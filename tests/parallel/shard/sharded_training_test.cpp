// Ranks that share the state of training are like one rank that has all of it.
#include <string>
#include <tuple>

#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

class ShardedTrainingTest : public testing::TestWithParam<std::tuple<int, Sharding>> {
 protected:
  static int ranks() { return std::get<0>(GetParam()); }
  static Sharding sharding() { return std::get<1>(GetParam()); }

  static void expect_like_one_rank(const Task& task, MakeOptimizer make_optimizer, double tolerance) {
    const std::vector<float> expected = train_whole(task, make_optimizer);
    std::vector<std::vector<float>> weights(static_cast<size_t>(ranks()));
    run_ranks(ranks(), [&](Rank& rank) {
      weights[static_cast<size_t>(rank.number())] = train_sharded(rank, task, make_optimizer, small_units(sharding()));
    });
    for (const std::vector<float>& own : weights) EXPECT_EQ(own, weights[0]) << "ranks must be bitwise equal";
    ASSERT_EQ(weights[0].size(), expected.size());
    EXPECT_LE(relative_difference(weights[0], expected), tolerance);
  }
};

TEST_P(ShardedTrainingTest, APerceptronWithSgdIsLikeOneRank) { expect_like_one_rank(perceptron(), make_sgd, 1e-6); }

TEST_P(ShardedTrainingTest, APerceptronWithAdamwIsLikeOneRank) { expect_like_one_rank(perceptron(), make_adamw, 1e-4); }

TEST_P(ShardedTrainingTest, ALanguageModelWithSgdIsLikeOneRank) {
  expect_like_one_rank(language_model(), make_sgd, 1e-6);
}

TEST_P(ShardedTrainingTest, ALanguageModelWithAdamwIsLikeOneRank) {
  expect_like_one_rank(language_model(), make_adamw, 1e-4);
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<int, Sharding>>& info) {
  const char* names[] = {"", "Optimizer", "Gradients", "Full"};
  return names[static_cast<int>(std::get<1>(info.param))] + std::string("On") + std::to_string(std::get<0>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Shards, ShardedTrainingTest,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8),
                                          testing::Values(Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull)),
                         name_of_case);

}  // namespace
}  // namespace halftone::parallel
