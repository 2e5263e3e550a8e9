// Data-parallel training over a group of threads, made of the parts that the library has: hooks of the parameters start
// an average of each gradient while backward goes on, and backward's last callback waits for them.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "autograd/weights/weights.h"
#include "nn/activations.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "ops/ops.h"
#include "optim/adamw.h"
#include "optim/sgd.h"
#include "ranks.h"
#include "tensor/factory.h"

namespace halftone {
namespace {

constexpr int64_t kRows = 32;
constexpr int64_t kFeatures = 5;
constexpr int64_t kHidden = 33;
constexpr int64_t kTargets = 3;
constexpr int kSteps = 8;

// Averages the gradients of one model over the ranks, in every backward. Lives longer than the backward runs.
class GradientAverage {
 public:
  GradientAverage(Rank& rank, const std::vector<NamedParameter>& parameters) : rank_(rank) {
    for (const NamedParameter& named : parameters) {
      hooks_.push_back(named.parameter->post_accumulate_hooks().add([this](AccumulateGrad& leaf) { start(leaf); }));
    }
  }
  ~GradientAverage() {
    for (const Ref<Hook>& hook : hooks_) hook->remove();
  }

  int64_t started() const { return started_; }

 private:
  // The operations of one backward, owned by the engine's callback. If backward fails, the engine destroys the
  // callback, and this waits for the operations that still write gradients.
  struct Round : RefCounted {
    explicit Round(GradientAverage& average) : owner(average) {}
    ~Round() override {
      for (const OwnedWork& work : works) static_cast<void>(work->wait());
      owner.round_ = nullptr;
    }
    GradientAverage& owner;
    std::vector<OwnedWork> works;
    std::vector<Tensor> gradients;  // keep the memory that the operations write
  };

  void start(AccumulateGrad& leaf) {
    if (round_ == nullptr) {
      const Ref<Round> round = make_ref<Round>(*this);
      call_at_end_of_backward([round] { finish(*round); });
      round_ = round.get();
    }
    const View gradient = leaf.grad().view();
    const CallOptions options{.stream = &rank_.device().device->stream()};
    Work* work = nullptr;
    check(rank_.group->all_reduce(options, ReduceOp::kAverage, gradient, gradient, &work));
    round_->works.emplace_back(work);
    round_->gradients.push_back(leaf.grad());
    ++started_;
  }
  static void finish(Round& round) {
    for (const OwnedWork& work : round.works) check(work->wait_on(round.owner.rank_.device().device->stream()));
    for (const Tensor& gradient : round.gradients) gradient.bump_version();
  }

  Rank& rank_;
  std::vector<Ref<Hook>> hooks_;
  Round* round_ = nullptr;
  int64_t started_ = 0;
};

// Every context has one seed, so every rank draws the same weights.
Ref<nn::Module> make_model(ContextDevice& device, int64_t hidden = kHidden) {
  std::vector<Ref<nn::Module>> layers = {make_ref<nn::Linear>(device, kFeatures, hidden, true, DType::kF32),
                                         make_ref<nn::Tanh>(),
                                         make_ref<nn::Linear>(device, hidden, kTargets, true, DType::kF32)};
  return make_ref<nn::Sequential>(std::move(layers));
}

// Rows of the part of the batch that a rank gets, as numbers that depend on the row and the step alone.
Tensor make_rows(ContextDevice& device, int step, int rank, int size, int64_t columns, double frequency) {
  const int64_t rows = kRows / size;
  std::vector<float> values;
  for (int64_t row = rank * rows; row < (rank + 1) * rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      values.push_back(static_cast<float>(std::sin(frequency * static_cast<double>(row * 7 + column * 3 + step * 11))));
    }
  }
  return from_host(device, DType::kF32, {rows, columns}, values.data());
}

Tensor loss_of(const nn::Module& model, ContextDevice& device, int step, int rank, int size) {
  const Tensor input = make_rows(device, step, rank, size, kFeatures, 0.7);
  const Tensor target = make_rows(device, step, rank, size, kTargets, 0.3);
  return ops::mse_loss(model.run(input), target, LossReduction::kMean);
}

using MakeOptimizer = Ref<optim::Optimizer> (*)(const nn::Module& model);

Ref<optim::Optimizer> make_sgd(const nn::Module& model) {
  const SgdGroup settings{
      .lr = 0.3, .momentum = 0.9, .dampening = 0, .weight_decay = 1e-3, .nesterov = 1, .reserved = 0};
  return make_ref<optim::Sgd>(optim::ParameterGroup{.parameters = model.parameters(), .precision = {}}, settings);
}

Ref<optim::Optimizer> make_adamw(const nn::Module& model) {
  const AdamwGroup settings{.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};
  return make_ref<optim::AdamW>(optim::ParameterGroup{.parameters = model.parameters(), .precision = {}}, settings);
}

std::vector<float> weights_of(const nn::Module& model) {
  std::vector<float> all;
  for (const NamedParameter& named : model.parameters()) {
    const Tensor& master = named.parameter->weights().master();
    std::vector<float> values(static_cast<size_t>(master.numel()));
    read_to_host(master, DType::kF32, values.data());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// Trains on this rank's part of each batch.
std::vector<float> train(Rank& rank, MakeOptimizer make_optimizer) {
  const int size = rank.group->size();
  const Ref<nn::Module> model = make_model(rank.device());
  GradientAverage average(rank, model->parameters());
  const Ref<optim::Optimizer> optimizer = make_optimizer(*model);
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    run_backward(loss_of(*model, rank.device(), step, rank.number(), size), Tensor(), false);
    optimizer->step();
  }
  EXPECT_EQ(average.started(), kSteps * 4);
  return weights_of(*model);
}

// Trains on the whole batches, without a group.
std::vector<float> train_alone(MakeOptimizer make_optimizer) {
  const Ref<Context> context = make_rank_context();
  ContextDevice& device = context->device("cpu");
  const Ref<nn::Module> model = make_model(device);
  const Ref<optim::Optimizer> optimizer = make_optimizer(*model);
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    run_backward(loss_of(*model, device, step, 0, 1), Tensor(), false);
    optimizer->step();
  }
  return weights_of(*model);
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max<double>(largest, std::fabs(a[i] - b[i]));
  return largest;
}

class ThreadsTrainingTest : public testing::TestWithParam<int> {
 protected:
  // `tolerance` is for each weight: ranks round their sums of rows where one rank has one longer sum.
  static void expect_like_one_rank(MakeOptimizer make_optimizer, double tolerance) {
    const std::vector<float> expected = train_alone(make_optimizer);
    const Ref<Context> context = make_rank_context();
    const double progress = largest_difference(expected, weights_of(*make_model(context->device("cpu"))));
    EXPECT_GT(progress, 1000 * tolerance) << "the training must change the weights";
    const int size = GetParam();
    std::vector<std::vector<float>> weights(static_cast<size_t>(size));
    run_ranks(size, [&](Rank& rank) { weights[static_cast<size_t>(rank.number())] = train(rank, make_optimizer); });
    for (const std::vector<float>& own : weights) {
      ASSERT_EQ(own.size(), expected.size());
      EXPECT_EQ(own, weights[0]) << "ranks must be bitwise equal";
    }
    const double difference = largest_difference(weights[0], expected);
    RecordProperty("largest_difference", std::to_string(difference * 1e9) + "e-9");
    EXPECT_LE(difference, tolerance);
  }
};

TEST_P(ThreadsTrainingTest, SgdOnPartsOfTheBatchEqualsOneRankOnTheWhole) { expect_like_one_rank(make_sgd, 2e-6); }

TEST_P(ThreadsTrainingTest, AdamwOnPartsOfTheBatchEqualsOneRankOnTheWhole) { expect_like_one_rank(make_adamw, 2e-5); }

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadsTrainingTest, testing::Values(2, 4, 8), testing::PrintToStringParamName());

// One rank has a wider layer. Without the comparison of the calls, its gradients would be added to other ones.
TEST(ThreadsTraining, AnotherModelOnOneRankFailsBackwardOnAllRanks) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = make_model(rank.device(), rank.number() == 1 ? kHidden + 1 : kHidden);
    const GradientAverage average(rank, model->parameters());
    try {
      run_backward(loss_of(*model, rank.device(), 0, 0, 1), Tensor(), false);
      ADD_FAILURE() << "rank " << rank.number();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kComm) << error.what();
    }
    for (const NamedParameter& named : model->parameters()) EXPECT_FALSE(named.parameter->has_grad()) << named.name;
  });
}

// One rank's backward fails half-way: it destroys its group, and the others' backward fails, too.
TEST(ThreadsTraining, ARankThatFailsInBackwardIsLostToTheOthers) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = make_model(rank.device());
    const GradientAverage average(rank, model->parameters());
    const bool is_culprit = rank.number() == 2;
    // Parameter 0 is the first layer's weight, whose gradient comes last.
    model->parameters()[0].parameter->post_accumulate_hooks().add([&](AccumulateGrad&) {
      if (!is_culprit) return;
      rank.group->abort("an error in a hook");
      fail(Code::kCallback, "", "an error in a hook");
    });
    try {
      run_backward(loss_of(*model, rank.device(), 0, rank.number(), 3), Tensor(), false);
      ADD_FAILURE() << "rank " << rank.number();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), is_culprit ? Code::kCallback : Code::kPeerLost) << error.what();
    }
    for (const NamedParameter& named : model->parameters()) EXPECT_FALSE(named.parameter->has_grad()) << named.name;
  });
}

}  // namespace
}  // namespace halftone
