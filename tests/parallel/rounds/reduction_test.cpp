// The ways in which a replica averages its buckets.
#include "parallel/rounds/reduction.h"

#include <limits>
#include <numeric>

#include "core/number/bfloat16.h"
#include "parallel/given_gradients.h"
#include "parallel/replicate/power_sgd.h"
#include "parallel/rounds/averages.h"

namespace halftone::parallel {
namespace {

class NarrowAverageTest : public testing::TestWithParam<DType> {};

// Two ranks send each other the same bytes by every algorithm.
TEST_P(NarrowAverageTest, IsWithinTheDtypesPrecisionAndSendsHalfOfTheBytes) {
  const std::vector<float> expected = expected_average(2, wave);
  run_ranks(2, [&](Rank& rank) {
    const Gradients gradients(rank, narrow_average(GetParam()));
    const int64_t before = rank.group->counters().bytes_sent;
    const std::vector<float> averages = gradients.average(wave);
    EXPECT_NEAR(static_cast<double>(rank.group->counters().bytes_sent - before), 2.0 * kLarge * (kLarge + 1), 1000);
    EXPECT_LT(relative_difference(averages, expected), GetParam() == DType::kF16 ? 1e-3 : 8e-3);
    EXPECT_GT(relative_difference(averages, expected), 1e-7) << "it was sent in 16 bits";
  });
}

INSTANTIATE_TEST_SUITE_P(Dtypes, NarrowAverageTest, testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& info) { return name_of(info.param); });

// 4 * 30000 is more than f16 holds.
TEST(Reduction, AnAverageInF16DoesNotOverflowWhereTheSumWould) {
  run_ranks(4, [](Rank& rank) {
    const Gradients gradients(rank, narrow_average(DType::kF16));
    EXPECT_EQ(gradients.average([](int, size_t) { return 30000.0f; })[7], 30000.0f);
  });
}

TEST(Reduction, AnAverageInF32IsNoNarrowOne) {
  EXPECT_EQ(error_of([] { narrow_average(DType::kF32); }).code(), Code::kDtypeMismatch);
}

TEST(Reduction, TheCallersOwnSeesEveryBucketInOrder) {
  run_ranks(2, [](Rank& rank) {
    std::vector<size_t> seen;
    const auto reduce = [&](const Tensor& bucket, size_t index) {
      seen.push_back(index);
      fill(bucket, 7.0);
      EXPECT_TRUE(barrier_of(*rank.group).ok());
    };
    const Ref<nn::Module> model = make_perceptron(rank.device());
    ReplicateOptions options = small_buckets();
    options.hook = callers_average(reduce);
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
    std::vector<size_t> all(replica->buckets().buckets().size());
    run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 2)));
    std::iota(all.begin(), all.end(), size_t{0});
    EXPECT_GT(all.size(), 1u);
    EXPECT_EQ(seen, all);
    EXPECT_EQ(values_of(model->parameters()[0].parameter->grad())[0], 7.0f);
  });
}

// A hook that reduces no states leaves the exchange of them to a message of its own.
TEST(Reduction, WithTheCallersOwnAMissingGradientIsNamedToo) {
  run_ranks(2, [](Rank& rank) {
    const Gradients gradients(rank, callers_average([](const Tensor&, size_t) {}));
    Parameter& weight = *gradients.layer->parameters()[0].parameter;
    fill(weight.accumulator().sink().tensor, 1.0);
    weight.accumulator().mark_stored();
    Parameter& bias = *gradients.layer->parameters()[1].parameter;
    fill(bias.accumulator().sink().tensor, 1.0);
    bias.accumulator().mark_stored();
    gradients.replica->mark_ready(weight);
    if (rank.number() == 0) gradients.replica->mark_ready(bias);
    const Error error = error_of([&] { gradients.replica->finish(); });
    EXPECT_EQ(error.code(), Code::kState);
    EXPECT_TRUE(contains(error, "bias on rank 1")) << error.what();
  });
}

TEST(Reduction, AnErrorOfTheCallersOwnFailsBackwardOnAllRanks) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    ReplicateOptions options = small_buckets();
    int calls = 0;
    options.hook = callers_average([&](const Tensor&, size_t) {
      if (++calls == 1 && rank.number() == 1) fail(Code::kCallback, "", "once");
    });
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
    const Error error =
        error_of([&] { run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 2))); });
    EXPECT_EQ(error.code(), rank.number() == 1 ? Code::kCallback : Code::kPeerLost) << error.what();
  });
}

// rank r's gradient is a product of two vectors, so that the average has rank 2.
float thin(int rank, size_t i) {
  const double row = static_cast<double>(i / kLarge), column = static_cast<double>(i % kLarge);
  return static_cast<float>(std::sin(row * (1 + rank) + 1) * std::cos(column * (2 + rank)));
}

TEST(PowerSgd, AnAverageOfAsLowARankIsExactAndSendsLess) {
  const std::vector<float> expected = expected_average(2, thin);
  run_ranks(2, [&](Rank& rank) {
    const Gradients gradients(rank, power_sgd({.rank = 2, .start_step = 0}));
    const int64_t before = rank.group->counters().bytes_sent;
    EXPECT_LT(relative_difference(gradients.average(thin), expected), 1e-5);
    EXPECT_EQ(gradients.vector_average(), 0.5f) << "vectors are sent as they are";
    const int64_t whole = kLarge * kLarge * 4;
    EXPECT_LT(rank.group->counters().bytes_sent - before, whole / 4);
  });
}

// Averages of the sent parts and of what the ranks keep add to all that was given. With the same gradient in every
// step, the mean of the results comes to it.
TEST(PowerSgd, ThePartThatIsNotSentComesLater) {
  const std::vector<float> expected = expected_average(2, wave);
  run_ranks(2, [&](Rank& rank) {
    double differences[2];
    for (const bool feeds_back : {false, true}) {
      const Gradients gradients(rank, power_sgd({.rank = 1, .start_step = 0, .has_error_feedback = feeds_back}));
      std::vector<float> mean(expected.size(), 0.0f);
      constexpr int kSteps = 60;
      for (int step = 0; step < kSteps; ++step) {
        const std::vector<float> sent = gradients.average(wave);
        for (size_t i = 0; i < sent.size(); ++i) mean[i] += sent[i] / kSteps;
      }
      differences[feeds_back ? 1 : 0] = relative_difference(mean, expected);
    }
    EXPECT_GT(differences[0], 0.3) << "one product of vectors is far from the average";
    EXPECT_LT(differences[1], 0.25 * differences[0]);
  });
}

TEST(PowerSgd, TheFirstStepsAndSmallGradientsAreAveragedAsTheyAre) {
  const std::vector<float> expected = expected_average(2, wave);
  run_ranks(2, [&](Rank& rank) {
    const Gradients late(rank, power_sgd({.rank = 1, .start_step = 2}));
    EXPECT_LT(relative_difference(late.average(wave), expected), 1e-6);
    EXPECT_LT(relative_difference(late.average(wave), expected), 1e-6);
    EXPECT_GT(relative_difference(late.average(wave), expected), 0.1);
    // rank 10 sends half as many elements, so that a rate of 2 is not exceeded.
    const Gradients large(rank, power_sgd({.rank = 10, .min_compression_rate = 2, .start_step = 0}));
    EXPECT_LT(relative_difference(large.average(wave), expected), 1e-6);
  });
}

TEST(PowerSgd, AnOverflowOfOneStepIsGoneInTheNext) {
  run_ranks(2, [](Rank& rank) {
    const Gradients gradients(rank, power_sgd({.rank = 2, .start_step = 0}));
    gradients.average(thin);
    const std::vector<float> broken = gradients.average([](int number, size_t i) {
      return number == 1 && i == 5 ? std::numeric_limits<float>::infinity() : thin(number, i);
    });
    EXPECT_FALSE(std::isfinite(std::accumulate(broken.begin(), broken.end(), 0.0f)));
    EXPECT_LT(relative_difference(gradients.average(thin), expected_average(2, thin)), 1e-5);
  });
}

TEST(PowerSgd, RanksGetTheSameBits) {
  std::vector<std::vector<float>> results(3);
  run_ranks(3, [&](Rank& rank) {
    const Gradients gradients(rank, power_sgd({.rank = 3, .start_step = 0}));
    for (int step = 0; step < 3; ++step) results[static_cast<size_t>(rank.number())] = gradients.average(wave);
  });
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
}

TEST(PowerSgd, ARankOfNoneIsAnError) {
  EXPECT_EQ(error_of([] { power_sgd({.rank = 0}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { power_sgd({.min_compression_rate = 0}); }).code(), Code::kInvalidArgument);
}

// 4096 gradients of 1 over 64 ranks: a sum in BF16 would stop at 256. And the error of random gradients is that of one
// rounding.
TEST(Reduction, ManyRanksLoseNothingInBf16) {
  constexpr int kRanks = 64;
  std::vector<float> results;
  run_ranks(kRanks, [&](Rank& rank) {
    const Ref<nn::Linear> layer = make_ref<nn::Linear>(rank.device(), kLarge, kLarge, false, DType::kBF16);
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, layer->parameters(), ReplicateOptions());
    Parameter& weight = *layer->parameters()[0].parameter;
    const auto average = [&](const std::vector<float>& values) {
      weight.zero_grad();
      write_from_host(weight.accumulator().sink().tensor, DType::kF32, values.data());
      weight.accumulator().mark_stored();
      replica->mark_ready(weight);
      replica->finish();
      return values_of(weight.grad());
    };
    EXPECT_EQ(weight.accumulator().memory().dtype(), DType::kBF16);
    const size_t count = static_cast<size_t>(kLarge * kLarge);
    EXPECT_EQ(average(std::vector<float>(count, 64.0f))[3], 64.0f) << "64 ranks of 64 equal terms each";
    std::vector<float> own(count);
    for (size_t i = 0; i < count; ++i) own[i] = 1.5f + 0.5f * wave(rank.number(), i);
    const std::vector<float> result = average(own);
    if (rank.number() == 0) results = result;
  });
  const auto rounded = [](int rank, size_t i) {
    return static_cast<float>(BFloat16::from(1.5f + 0.5f * wave(rank, i)));
  };
  const std::vector<float> expected = expected_average(kRanks, rounded);
  EXPECT_LT(relative_difference(results, expected), 0.002);
}

}  // namespace
}  // namespace halftone::parallel
