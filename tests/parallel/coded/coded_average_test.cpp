// Averages of gradients that travel as E5M2.
#include "parallel/coded/coded_average.h"

#include <limits>
#include <tuple>

#include "parallel/coded/coded_message.h"
#include "parallel/coded/coded_reference.h"
#include "parallel/given_gradients.h"
#include "parallel/replicated_training.h"
#include "parallel/rounds/averages.h"

namespace halftone::parallel {
namespace {

// Another gradient in every step; magnitudes from 1e-8 to 1.
float changing_wave(int step, int rank, size_t i) {
  return wave(rank + 5 * step, i) * static_cast<float>(std::exp(-static_cast<double>(i % 19)));
}

// The bucket of Gradients::average on a rank.
template <class Function>
Values bucket_of(const Gradients& gradients, int rank, Function&& values) {
  const GradientBuckets::Bucket& bucket = gradients.replica->buckets().buckets()[0];
  Values flat(static_cast<size_t>(bucket.flat.numel()));
  for (const GradientBuckets::Slot& slot : bucket.slots) {
    for (size_t i = 0; i < static_cast<size_t>(slot.view.numel()); ++i) {
      flat[static_cast<size_t>(slot.view.offset()) + i] =
          slot.view.rank() == 2 ? values(rank, i) : static_cast<float>(rank);
    }
  }
  return flat;
}

template <class Function>
std::vector<Values> buckets_of(const Gradients& gradients, Function&& values) {
  std::vector<Values> all;
  for (int rank = 0; rank < gradients.rank.group->size(); ++rank) all.push_back(bucket_of(gradients, rank, values));
  return all;
}

Values flat_of(const Gradients& gradients) { return values_of(gradients.replica->buckets().buckets()[0].flat); }

class CodedAverageTest : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  static int ranks() { return std::get<0>(GetParam()); }
  static bool has_error_feedback() { return std::get<1>(GetParam()); }
};

// Three ranks do not divide the bucket.
TEST_P(CodedAverageTest, HasTheBitsOfPlainLoopsOnAllRanks) {
  run_ranks(ranks(), [](Rank& rank) {
    const Gradients gradients(rank, coded_average(has_error_feedback()));
    CodedReference reference(ranks(), has_error_feedback());
    for (int step = 0; step < 4; ++step) {
      const auto values = [step](int number, size_t i) { return changing_wave(step, number, i); };
      gradients.average(values);
      EXPECT_EQ(flat_of(gradients), reference.average(buckets_of(gradients, values))) << "step " << step;
    }
  });
}

// A gradient scaler sees the bucket of all ranks, and nothing of it stays.
TEST_P(CodedAverageTest, AnInfinityOfOneRankIsNanOnAllAndGoneInTheNextBackward) {
  run_ranks(ranks(), [](Rank& rank) {
    const Gradients gradients(rank, coded_average(has_error_feedback()));
    CodedReference reference(ranks(), has_error_feedback());
    for (int step = 0; step < 3; ++step) {
      const auto values = [step](int number, size_t i) {
        const bool is_broken = step == 1 && number == ranks() - 1 && i == 5;
        return is_broken ? -std::numeric_limits<float>::infinity() : changing_wave(step, number, i);
      };
      const Values matrix = gradients.average(values);
      const Values expected = reference.average(buckets_of(gradients, values));
      if (step != 1) {
        EXPECT_EQ(flat_of(gradients), expected) << "step " << step;
      } else {
        EXPECT_TRUE(std::all_of(matrix.begin(), matrix.end(), [](float value) { return std::isnan(value); }));
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, CodedAverageTest, testing::Combine(testing::Values(1, 2, 3, 4), testing::Bool()),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "WithErrorFeedback" : "WithoutErrorFeedback");
                         });

// Two ranks send each other the same bytes by every algorithm: half of the bucket in f32 for each of two directions,
// and a byte in place of four. Scales and the states of the ranks are a few bytes more.
TEST(CodedAverage, SendsAQuarterOfTheBytes) {
  run_ranks(2, [](Rank& rank) {
    const auto sent_by = [&](Ref<ReductionHook> hook) {
      const Gradients gradients(rank, std::move(hook));
      gradients.average(wave);
      const int64_t before = rank.group->counters().bytes_sent;
      gradients.average(wave);
      return rank.group->counters().bytes_sent - before;
    };
    const int64_t plain = sent_by(average()), codes = sent_by(coded_average(true));
    EXPECT_GE(plain, 4 * kLarge * kLarge);
    EXPECT_GE(codes, plain / 4);
    EXPECT_LE(codes, plain / 4 + 64);
  });
}

// With the same gradient in every step, the mean of the results comes to it; without feedback it stays where the codes
// are.
TEST(CodedAverage, ThePartThatIsNotSentComesLater) {
  const std::vector<float> expected = expected_average(3, wave);
  run_ranks(3, [&](Rank& rank) {
    for (const bool feeds_back : {false, true}) {
      const Gradients gradients(rank, coded_average(feeds_back));
      std::vector<double> sums(expected.size());
      constexpr int kMany = 128;
      for (int step = 0; step < kMany; ++step) {
        const std::vector<float> sent = gradients.average(wave);
        for (size_t i = 0; i < sent.size(); ++i) sums[i] += sent[i];
      }
      std::vector<float> mean;
      for (const double sum : sums) mean.push_back(static_cast<float>(sum / kMany));
      const double difference = relative_difference(mean, expected);
      if (feeds_back) {
        EXPECT_LT(difference, 2e-3);
      } else {
        EXPECT_GT(difference, 2e-2);
      }
    }
  });
}

// The average after an event has the bits of a first one.
void expect_forgotten(Rank& rank, const std::function<void(const Gradients& gradients)>& event) {
  const Gradients gradients(rank, coded_average(true)), others(rank, coded_average(true));
  const std::vector<float> first = others.average(wave);
  gradients.average(wave);
  EXPECT_NE(gradients.average(wave), first) << "what was not sent is added";
  event(gradients);
  EXPECT_EQ(gradients.average(wave), first);
}

TEST(CodedAverage, ABackwardThatFailsDropsWhatWasNotSent) {
  run_ranks(2, [](Rank& rank) {
    expect_forgotten(rank, [](const Gradients& gradients) {
      Parameter& bias = *gradients.layer->parameters()[1].parameter;
      bias.accumulator().mark_stored();
      gradients.replica->mark_ready(bias);
      EXPECT_EQ(error_of([&] { gradients.replica->finish(); }).code(), Code::kState);
    });
  });
}

TEST(CodedAverage, BucketsThatAreLaidOutAnewDropWhatWasNotSent) {
  run_ranks(2, [](Rank& rank) {
    expect_forgotten(rank, [](const Gradients& gradients) {
      LeafMemory& memory = gradients.layer->parameters()[0].parameter->accumulator().memory();
      memory.take(converted(memory.tensor(), DType::kF32), DType::kF32);
    });
  });
}

// Ranks without batches take part with gradients of 0.
TEST(CodedAverage, RanksThatJoinStayEqual) {
  std::vector<std::vector<float>> weights(3);
  run_ranks(3, [&](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    ReplicateOptions options = small_buckets();
    options.hook = coded_average(true);
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
    const Ref<optim::Optimizer> optimizer = make_sgd(*model);
    replica->begin_join(true);
    for (int step = 0; step <= rank.number(); ++step) {
      optimizer->zero_grad();
      run_backward_of(perceptron_loss(*model, rank.device(), Part::of(step, rank.number(), 3)));
      optimizer->step();
    }
    replica->end_join();
    weights[static_cast<size_t>(rank.number())] = weights_of(*model);
  });
  EXPECT_EQ(weights[1], weights[0]);
  EXPECT_EQ(weights[2], weights[0]);
}

TEST(CodedAverage, AParameterThatNoRankUsedHasNoGradient) {
  run_ranks(2, [](Rank& rank) {
    const auto layer = make_ref<nn::Linear>(rank.device(), kLarge, kLarge, true, DType::kF32);
    ReplicateOptions options;
    options.finds_unused = true;
    options.hook = coded_average(true);
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, layer->parameters(), options);
    Parameter &weight = *layer->parameters()[0].parameter, &bias = *layer->parameters()[1].parameter;
    fill(bias.accumulator().sink().tensor, rank.number() == 0 ? 1.0 : 0.5);
    bias.accumulator().mark_stored();
    replica->mark_ready(bias);
    replica->finish();
    EXPECT_FALSE(weight.has_grad());
    EXPECT_EQ(values_of(bias.grad())[3], 0.75f) << "E5M2 has all of these numbers";
  });
}

TEST(CodedAverage, GradientsWithoutSyncAreSentWithTheNext) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const auto sum_by = [&](Ref<ReductionHook> hook) {
      for (const NamedParameter& named : model->parameters()) named.parameter->zero_grad();
      ReplicateOptions options = small_buckets();
      options.hook = std::move(hook);
      const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
      replica->begin_no_sync();
      run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 2)));
      replica->end_no_sync();
      run_backward_of(perceptron_loss(*model, rank.device(), Part::of(1, rank.number(), 2)));
      return values_of(model->parameters()[0].parameter->grad());
    };
    const std::vector<float> plain = sum_by(average()), codes = sum_by(coded_average(true));
    EXPECT_LT(relative_difference(codes, plain), 0.1) << "two roundings to 3 bits";
    EXPECT_GT(relative_difference(codes, plain), 1e-3);
  });
}

TEST(CodedMessage, CodesDoNotDependOnTheNumberOfThreads) {
  const auto encode_on = [](uint32_t threads) {
    ContextOptions options;
    options.num_threads = threads;
    const Ref<Context> context = make_ref<Context>(options);
    ContextDevice& device = context->device("cpu");
    constexpr int64_t kCount = 300'001;
    const Tensor values = empty(device, DType::kF32, {kCount});
    fill_normal(values, {.seed = 3, .sequence = 1}, 0.0, 1e-3);
    const Tensor remainder = full(device, DType::kF32, {kCount}, 1e-5);
    const ops::Scaled codes = encode(values, remainder);
    std::vector<float> all = values_of(codes.codes), rest = values_of(remainder);
    all.insert(all.end(), rest.begin(), rest.end());
    all.push_back(values_of(codes.scales)[0]);
    return all;
  };
  EXPECT_EQ(encode_on(4), encode_on(1));
}

// Replicas whose gradients travel as codes come to the loss of those whose gradients do not.
TEST(CodedAverage, TrainingReachesTheLossOfF32) {
  const Task task = language_model();
  const auto loss_after = [&](int ranks, const std::function<Ref<ReductionHook>()>& make_hook) {
    double result = 0;
    std::vector<std::vector<float>> weights(static_cast<size_t>(ranks));
    run_ranks(ranks, [&](Rank& rank) {
      const Ref<nn::Module> model = task.make_model(rank.device());
      ReplicateOptions options = small_buckets();
      options.hook = make_hook();
      const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
      const Ref<optim::Optimizer> optimizer = make_adamw(*model);
      for (int step = 0; step < 40; ++step) {
        optimizer->zero_grad();
        run_backward_of(task.loss(*model, rank.device(), Part::of(step % 3, rank.number(), ranks)));
        optimizer->step();
      }
      weights[static_cast<size_t>(rank.number())] = weights_of(*model);
      if (rank.number() == 0) result = item(task.loss(*model, rank.device(), Part::of(0, 0, 1)));
    });
    for (const std::vector<float>& own : weights) EXPECT_EQ(own, weights[0]) << "ranks must be bitwise equal";
    return result;
  };
  const double plain = loss_after(4, [] { return average(); });
  const double codes = loss_after(4, [] { return coded_average(true); });
  RecordProperty("loss", std::to_string(plain) + " in f32, " + std::to_string(codes) + " as codes");
  EXPECT_LT(plain, 1.5) << "the training must reach a loss that is less than log(17)";
  EXPECT_NEAR(codes, plain, 0.05 * plain);
}

}  // namespace
}  // namespace halftone::parallel
