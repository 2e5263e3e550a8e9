// Processes that are connected by Gloo train like one process.
#include <functional>
#include <string>
#include <vector>

#include "comm/gloo_ranks.h"
#include "parallel/replicated_training.h"
#include "parallel/shards.h"
#include "sanitizers.h"

namespace halftone::parallel {
namespace {

void expect_close(const std::vector<float>& weights, const std::vector<float>& expected, double tolerance) {
  ASSERT_EQ(weights.size(), expected.size());
  EXPECT_LE(relative_difference(weights, expected), tolerance);
}

class GlooTrainingTest : public testing::TestWithParam<int> {
 protected:
  // Each training has a context and a group of its own, so that all draw the same weights.
  static std::vector<float> train_in_group(const GlooRank& of, const std::string& name,
                                           const std::function<std::vector<float>(Rank& rank)>& train) {
    GlooRank joined{.board = of.board, .number = of.number, .size = of.size};
    joined.connect();
    joined.join(joined.options(name.c_str()));
    Rank rank{.context = joined.context, .group = std::move(joined.group)};
    std::vector<float> weights = train(rank);
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    return weights;
  }
};

TEST_P(GlooTrainingTest, RanksThatHoldTheWholeModelAreLikeOneRank) {
  const GlooRanks ranks(GetParam(), [](GlooRank& rank) {
    int count = 0;
    const auto expect_like_one_rank = [&](const Task& task, MakeOptimizer make_optimizer, double tolerance) {
      const auto train = [&](Rank& joined) { return train_replicated(joined, task, make_optimizer); };
      expect_close(train_in_group(rank, std::to_string(count++), train), train_alone(task, make_optimizer), tolerance);
    };
    expect_like_one_rank(perceptron(), make_sgd, 1e-6);
    expect_like_one_rank(perceptron(), make_adamw, 1e-4);
    expect_like_one_rank(image_model(), make_sgd, 1e-6);
    expect_like_one_rank(image_model(), make_adamw, 1e-4);
    expect_like_one_rank(language_model(), make_sgd, 1e-6);
    expect_like_one_rank(language_model(), make_adamw, 1e-4);
  });
}

TEST_P(GlooTrainingTest, RanksThatShareTheStateAreLikeOneRank) {
  const GlooRanks ranks(GetParam(), [](GlooRank& rank) {
    int count = 0;
    const auto expect_like_one_rank = [&](const Task& task, MakeOptimizer make_optimizer, Sharding sharding,
                                          double tolerance) {
      const auto train = [&](Rank& joined) {
        return train_sharded(joined, task, make_optimizer, small_units(sharding));
      };
      expect_close(train_in_group(rank, std::to_string(count++), train), train_whole(task, make_optimizer), tolerance);
    };
    expect_like_one_rank(perceptron(), make_sgd, Sharding::kOptimizer, 1e-6);
    expect_like_one_rank(perceptron(), make_adamw, Sharding::kGradients, 1e-4);
    expect_like_one_rank(language_model(), make_adamw, Sharding::kFull, 1e-4);
  });
}

// Sanitizers take many times as long.
INSTANTIATE_TEST_SUITE_P(Ranks, GlooTrainingTest,
                         testing::ValuesIn(kAnySanitizer ? std::vector<int>{2} : std::vector<int>{2, 3, 4, 8}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace halftone::parallel
