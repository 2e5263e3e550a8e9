// The engine of data-parallel training: its buckets, what its backwards communicate, and its rules.
#include "parallel/replicate/replicate.h"

#include <set>

#include "autograd/weights/weights.h"
#include "parallel/replicas.h"

namespace halftone::parallel {
namespace {

// A replica of a model on one rank.
struct Trainee {
  explicit Trainee(Rank& rank, ReplicateOptions options = small_buckets(), Ref<nn::Module> given = nullptr)
      : rank(rank),
        model(given ? given : make_perceptron(rank.device())),
        replica(make_ref<Replicate>(*rank.group, model, std::move(options))) {}

  const Parameter& parameter(size_t index) const { return *model->parameters()[index].parameter; }
  void zero_grad() const {
    for (const NamedParameter& named : model->parameters()) named.parameter->zero_grad();
  }
  // On this rank's part of a batch.
  void backward(int step = 0) const {
    run_backward_of(perceptron_loss(*model, rank.device(), Part::of(step, rank.number(), rank.group->size())));
  }
  std::vector<float> gradients() const {
    std::vector<float> all;
    for (const NamedParameter& named : model->parameters()) {
      const std::vector<float> values = values_of(named.parameter->grad());
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  Rank& rank;
  const Ref<nn::Module> model;
  const Ref<Replicate> replica;
};

// The gradients of a whole batch, without ranks.
std::vector<float> whole_gradients(const std::vector<int>& steps) {
  const Ref<Context> context = make_rank_context();
  const Ref<nn::Module> model = make_perceptron(context->device("cpu"));
  for (const int step : steps) run_backward_of(perceptron_loss(*model, context->device("cpu"), Part::of(step, 0, 1)));
  std::vector<float> all;
  for (const NamedParameter& named : model->parameters()) {
    const std::vector<float> values = values_of(named.parameter->grad());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(Replicate, GradientsAreViewsOfFewBuffers) {
  run_ranks(2, [](Rank& rank) {
    const Trainee trainee(rank, {});
    trainee.backward();
    const Tensor first = trainee.parameter(0).grad();
    for (const NamedParameter& named : trainee.model->parameters()) {
      EXPECT_EQ(named.parameter->grad().storage(), first.storage()) << named.name;
    }
    const void* const address = first.data();
    trainee.zero_grad();
    trainee.backward(1);
    EXPECT_EQ(trainee.parameter(0).grad().data(), address) << "the memory stays from step to step";
  });
}

TEST(Replicate, GradientsAreAveragesOverTheRanks) {
  const std::vector<float> expected = whole_gradients({0});
  run_ranks(3, [&](Rank& rank) {
    const Trainee trainee(rank);
    trainee.backward();
    EXPECT_LT(relative_difference(trainee.gradients(), expected), 1e-6);
  });
}

// The first backward shows in which order gradients arrive. Rank 0's counts on all ranks.
TEST(Replicate, BucketsFollowTheOrderOfTheFirstBackward) {
  run_ranks(3, [](Rank& rank) {
    // Registered the other way round than they run.
    const Ref<nn::Linear> last = make_ref<nn::Linear>(rank.device(), 8, 3, true, DType::kF32);
    const Ref<nn::Linear> first = make_ref<nn::Linear>(rank.device(), 5, 8, true, DType::kF32);
    std::vector<NamedParameter> parameters = last->parameters();
    for (const NamedParameter& named : first->parameters()) parameters.push_back(named);
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, parameters, small_buckets());
    EXPECT_EQ(replica->buckets().order(), (std::vector<size_t>{3, 2, 1, 0}));
    std::vector<float> before;
    for (int step = 0; step < 3; ++step) {
      for (const NamedParameter& named : parameters) named.parameter->zero_grad();
      const Tensor input = make_rows(rank.device(), Part::of(0, rank.number(), 3), {5}, 0.7);
      run_backward_of(ops::sum(ops::tanh(last->run(first->run(input))), {}, false));
      const std::vector<float> now = values_of(parameters[2].parameter->grad());
      if (step > 0) {
        EXPECT_EQ(now, before) << "another layout changes no value";
      }
      before = now;
      const std::vector<size_t>& order = replica->buckets().order();
      EXPECT_EQ(std::set<size_t>(order.begin(), order.begin() + 2), (std::set<size_t>{0, 1}));
    }
  });
}

TEST(Replicate, AnOptimizerMayChooseTheDtypeOfGradientsAfterwards) {
  run_ranks(2, [](Rank& rank) {
    const Trainee trainee(rank);
    optim::ParameterGroup group{.parameters = trainee.model->parameters(), .precision = {}};
    group.precision.compute_dtype = DType::kBF16;
    group.precision.grad_dtype = DType::kBF16;
    const Ref<optim::Optimizer> optimizer = make_ref<optim::Sgd>(
        group, SgdGroup{.lr = 0.1, .momentum = 0, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0});
    trainee.backward();
    const int64_t before = rank.group->counters().bytes_sent;
    trainee.zero_grad();
    trainee.backward();
    EXPECT_EQ(trainee.replica->buckets().buckets()[0].flat.dtype(), DType::kBF16);
    EXPECT_EQ(trainee.parameter(0).grad().dtype(), DType::kBF16);
    EXPECT_EQ(trainee.parameter(0).grad().storage(), trainee.replica->buckets().view_of(0).storage());
    int64_t elements = 0;
    for (const auto& bucket : trainee.replica->buckets().buckets()) elements += bucket.flat.numel();
    EXPECT_EQ(rank.group->counters().bytes_sent - before, elements * 2) << "two ranks exchange 2 bytes an element";
    optimizer->step();
  });
}

// Each rank sends 2P(N-1)/N elements, but for the ends of the buckets.
// The model is too large for a tree, which would send more.
TEST(Replicate, AStepSendsEachGradientTwiceButForTheRanksOwnPart) {
  constexpr int kRanks = 4;
  run_ranks(kRanks, [](Rank& rank) {
    ReplicateOptions one_bucket;  // which is too large for a tree even where messages are slow
    one_bucket.bucket_sizes = {.first = int64_t{64} << 20, .others = int64_t{64} << 20};
    const Trainee trainee(rank, one_bucket, make_perceptron(rank.device(), 100'000));
    trainee.backward();
    const int64_t before = rank.group->counters().bytes_sent;
    trainee.zero_grad();
    trainee.backward();
    int64_t elements = 0;
    for (const NamedParameter& named : trainee.model->parameters()) elements += numel(named.parameter->shape());
    const double expected = 2.0 * static_cast<double>(elements) * 4 * (kRanks - 1) / kRanks;
    EXPECT_NEAR(static_cast<double>(rank.group->counters().bytes_sent - before), expected, 0.02 * expected);
  });
}

TEST(Replicate, WithoutSyncGradientsStayOnTheRankUntilTheNextBackward) {
  const std::vector<float> expected = whole_gradients({0, 1, 2});
  run_ranks(2, [&](Rank& rank) {
    const Trainee trainee(rank);
    trainee.replica->begin_no_sync();
    trainee.replica->begin_no_sync();
    trainee.replica->end_no_sync();  // the outer one goes on
    const int64_t before = rank.group->counters().bytes_sent;
    trainee.backward(0);
    trainee.backward(1);
    EXPECT_EQ(rank.group->counters().bytes_sent, before);
    trainee.replica->end_no_sync();
    trainee.backward(2);
    EXPECT_LT(relative_difference(trainee.gradients(), expected), 1e-6);
  });
}

TEST(Replicate, D23_NoSyncOnOneRankAloneIsAnError) {
  run_ranks(3, [](Rank& rank) {
    const Trainee trainee(rank);
    if (rank.number() == 1) {
      trainee.replica->begin_no_sync();
      trainee.backward();
      trainee.replica->end_no_sync();
    }
    const Error error = error_of([&] {
      trainee.backward();
      trainee.backward();
    });
    EXPECT_EQ(error.code(), Code::kComm) << error.what();
    EXPECT_TRUE(contains(error, "no_sync")) << error.what();
  });
}

TEST(Replicate, D9_AnotherModelOnOneRankIsNamedOnAllRanks) {
  run_ranks(3, [](Rank& rank) {
    const int64_t hidden = rank.number() == 2 ? kHidden + 1 : kHidden;
    const Error error = error_of([&] { Trainee(rank, {}, make_perceptron(rank.device(), hidden)); });
    EXPECT_EQ(error.code(), Code::kComm);
    EXPECT_TRUE(
        contains(error, "rank 2 has parameter 0.weight [34, 5] f32 where rank 0 has parameter 0.weight [33, 5]"))
        << error.what();
  });
}

TEST(Replicate, D9_AFurtherLayerOnOneRankIsNamedOnAllRanks) {
  run_ranks(2, [](Rank& rank) {
    std::vector<Ref<nn::Module>> layers = {make_perceptron(rank.device())};
    if (rank.number() == 0) layers.push_back(make_ref<nn::Linear>(rank.device(), 3, 2, true, DType::kF32));
    const Ref<nn::Module> model = make_ref<nn::Sequential>(std::move(layers));
    const Error error = error_of([&] { Trainee(rank, {}, model); });
    EXPECT_EQ(error.code(), Code::kComm);
    EXPECT_TRUE(contains(error, "where rank 0 has parameter 1.weight [2, 3] f32")) << error.what();
  });
}

TEST(Replicate, OtherOptionsOnOneRankAreNamedOnAllRanks) {
  run_ranks(2, [](Rank& rank) {
    ReplicateOptions options;
    options.finds_unused = rank.number() == 1;
    const Error error = error_of([&] { Trainee(rank, options); });
    EXPECT_EQ(error.code(), Code::kComm);
    EXPECT_TRUE(contains(error, "find_unused_parameters")) << error.what();
  });
}

TEST(Replicate, RanksBeginWithTheWeightsOfRankZeroAndTheirCopies) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Parameter> weight = model->parameters()[0].parameter;
    optim::ParameterGroup group{.parameters = model->parameters(), .precision = {}};
    group.precision.compute_dtype = DType::kBF16;
    group.precision.grad_dtype = DType::kBF16;
    const Ref<optim::Optimizer> optimizer = make_ref<optim::Sgd>(
        group, SgdGroup{.lr = 0.1, .momentum = 0, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0});
    fill(weight->weights().master(), rank.number());
    const Trainee trainee(rank, {}, model);
    EXPECT_EQ(values_of(weight->weights().master()),
              std::vector<float>(static_cast<size_t>(numel(weight->shape())), 0.0f));
    EXPECT_TRUE(weight->weights().keeps(DType::kBF16)) << "the copy is current";
    EXPECT_EQ(values_of(weight->weights().compute()), values_of(weight->weights().master()));
  });
}

// The frozen weight is broadcast, and no gradient is expected of it.
TEST(Replicate, FrozenParametersTakeNoPartInBackward) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Parameter> weight = model->parameters()[0].parameter;
    weight->set_frozen(true);
    fill(weight->weights().master(), rank.number() + 1);
    const Trainee trainee(rank, small_buckets(), model);
    EXPECT_EQ(values_of(weight->weights().master())[0], 1.0f);
    trainee.backward();
    EXPECT_FALSE(weight->has_grad());
    EXPECT_TRUE(trainee.parameter(1).has_grad());
  });
}

// One bit of one weight, as a machine's error would flip it.
TEST(Replicate, D22_WeightsThatDifferOnOneRankAreNamedOnAllRanks) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    EXPECT_NO_THROW(replica->check_weights());
    const Tensor weight = model->parameters()[2].parameter->weights().master();
    if (rank.number() == 2) static_cast<uint8_t*>(weight.data())[5] ^= 1;
    const Error error = error_of([&] { replica->check_weights(); });
    EXPECT_EQ(error.code(), Code::kComm);
    EXPECT_TRUE(contains(error, "the weights of rank 2 differ from those of rank 0, first in 2.weight"))
        << error.what();
  });
}

TEST(Replicate, AModelOfFrozenParametersIsAnError) {
  run_ranks(1, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    for (const NamedParameter& named : model->parameters()) named.parameter->set_frozen(true);
    EXPECT_EQ(error_of([&] { Trainee(rank, {}, model); }).code(), Code::kState);
  });
}

}  // namespace
}  // namespace halftone::parallel
