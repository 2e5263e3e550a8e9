// Weights whose bits do not depend on the number of ranks.
#include <iterator>
#include <map>
#include <set>

#include "parallel/recipes.h"
#include "parallel/replicas.h"

namespace halftone::parallel {
namespace {

constexpr int kMicrobatches = 8;  // of a step; number i * ranks + rank is that of a rank in round i
constexpr int kSteps = 4;

std::vector<float> train(Rank& rank, const Task& task, MakeOptimizer make_optimizer) {
  const int ranks = rank.group->size();
  const Ref<nn::Module> model = task.make_model(rank.device());
  ReplicateOptions options = small_buckets();
  options.is_deterministic = true;
  const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
  const Ref<optim::Optimizer> optimizer = make_optimizer(*model);
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    for (int round = 0; round < kMicrobatches / ranks; ++round) {
      const Part part = Part::of(step, round * ranks + rank.number(), kMicrobatches);
      run_backward_of(ops::rescale(task.loss(*model, rank.device(), part), 1.0 / kMicrobatches, 0.0));
    }
    optimizer->step();
  }
  return weights_of(*model);
}

// Returns the weights.
std::vector<float> expect_same_bits(const Task& task, MakeOptimizer make_optimizer) {
  std::map<int, std::vector<float>> weights;
  for (const int ranks : {1, 2, 4, 8}) {
    std::vector<std::vector<float>> all(static_cast<size_t>(ranks));
    run_ranks(ranks, [&](Rank& rank) { all[static_cast<size_t>(rank.number())] = train(rank, task, make_optimizer); });
    for (const std::vector<float>& own : all) EXPECT_EQ(own, all[0]);
    weights[ranks] = all[0];
    EXPECT_EQ(weights[ranks], weights[1]) << ranks << " ranks";
  }
  return weights[1];
}

TEST(Deterministic, APerceptronHasTheSameBitsOnAnyNumberOfRanks) { expect_same_bits(perceptron(), make_sgd); }

TEST(Deterministic, ALanguageModelHasTheSameBitsOnAnyNumberOfRanks) { expect_same_bits(language_model(), make_adamw); }

TEST(Deterministic, DropoutIsThatOfTheMicrobatchOnAnyNumberOfRanks) {
  expect_same_bits(language_model(0.2), make_adamw);
  expect_same_bits(language_model(0.2, true), make_sgd);
}

TEST(Deterministic, EveryRecipeHasTheSameBitsOnAnyNumberOfRanks) {
  std::set<std::vector<float>> weights;
  for (const RecipeKind kind : kRecipeKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    expect_same_bits(in_recipe(perceptron(), kind), make_sgd);
    weights.insert(expect_same_bits(in_recipe(language_model(), kind), make_adamw));
  }
  EXPECT_EQ(weights.size(), std::size(kRecipeKinds)) << "each rounds in its own way";
}

// Rounds are added, and a new step begins with zero_grad.
TEST(Deterministic, GradientsAreTheSumOfAllMicrobatches) {
  const Ref<Context> context = make_rank_context();
  const Ref<nn::Module> whole = make_perceptron(context->device("cpu"));
  run_backward_of(perceptron_loss(*whole, context->device("cpu"), Part::of(0, 0, 1)));
  const std::vector<float> expected = values_of(whole->parameters()[0].parameter->grad());
  run_ranks(2, [&](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    ReplicateOptions options;
    options.is_deterministic = true;
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
    for (int step = 0; step < 2; ++step) {
      for (const NamedParameter& named : model->parameters()) named.parameter->zero_grad();
      for (int round = 0; round < 3; ++round) {
        const Part part = Part::of(0, round * 2 + rank.number(), 6);
        run_backward_of(ops::rescale(perceptron_loss(*model, rank.device(), part), 1.0 / 6, 0.0));
      }
      EXPECT_LT(relative_difference(values_of(model->parameters()[0].parameter->grad()), expected), 1e-6) << step;
    }
  });
}

TEST(Deterministic, GradientsInBf16AreAddedInF32) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Linear> layer = make_ref<nn::Linear>(rank.device(), 4, 4, false, DType::kBF16);
    ReplicateOptions options;
    options.is_deterministic = true;
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, layer->parameters(), options);
    Parameter& weight = *layer->parameters()[0].parameter;
    for (int round = 0; round < 300; ++round) {
      fill(weight.accumulator().sink().tensor, 1.0);
      weight.accumulator().mark_stored();
      replica->mark_ready(weight);
      replica->finish();
    }
    EXPECT_EQ(weight.grad().dtype(), DType::kF32);
    EXPECT_EQ(values_of(weight.grad())[0], 600.0f) << "a sum of ones in bf16 stops at 256";
  });
}

TEST(Deterministic, EveryBackwardIsReduced) {
  run_ranks(1, [](Rank& rank) {
    ReplicateOptions options;
    options.is_deterministic = true;
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
    EXPECT_EQ(error_of([&] { replica->begin_no_sync(); }).code(), Code::kState);
  });
}

}  // namespace
}  // namespace halftone::parallel
