// Backwards that leave out parameters or fail, ranks with different numbers of batches, gradients of other engines, and
// gradients that are not finite.
#include <latch>
#include <limits>

#include "autograd/gradient_hook.h"
#include "optim/grad_scaler.h"
#include "parallel/replicas.h"

namespace halftone::parallel {
namespace {

// Two branches, of which each rank may use either.
struct Branches {
  explicit Branches(Rank& rank, bool finds_unused)
      : a(make_ref<nn::Linear>(rank.device(), kFeatures, 3, true, DType::kF32)),
        b(make_ref<nn::Linear>(rank.device(), kFeatures, 3, true, DType::kF32)),
        c(make_ref<nn::Linear>(rank.device(), kFeatures, 3, true, DType::kF32)) {
    ReplicateOptions options = small_buckets();
    options.finds_unused = finds_unused;
    const Ref<nn::Module> all = make_ref<nn::Sequential>(std::vector<Ref<nn::Module>>{a, b, c});
    replica = make_ref<Replicate>(*rank.group, all, options);
  }

  void backward(Rank& rank, const std::vector<nn::Linear*>& used) const {
    const Tensor input = make_rows(rank.device(), Part::of(0, rank.number(), rank.group->size()), {kFeatures}, 0.7);
    Tensor loss;
    for (const nn::Linear* layer : used) {
      const Tensor part = ops::sum(layer->run(input), {}, false);
      loss = loss.defined() ? ops::add(loss, part) : part;
    }
    run_backward_of(loss);
  }
  static const Parameter& weight(const nn::Linear& layer) { return *layer.parameters()[0].parameter; }

  Ref<nn::Linear> a, b, c;
  Ref<Replicate> replica;
};

TEST(Unused, AParameterThatOneRankUsesGetsItsShareOnAllRanks) {
  run_ranks(3, [](Rank& rank) {
    const Branches branches(rank, true);
    for (int step = 0; step < 3; ++step) {
      for (const auto* layer : {&branches.a, &branches.b, &branches.c}) {
        for (const NamedParameter& named : (*layer)->parameters()) named.parameter->zero_grad();
      }
      // Rank 0 uses a, the others b; c is not used.
      branches.backward(rank, {rank.number() == 0 ? branches.a.get() : branches.b.get()});
      ASSERT_TRUE(Branches::weight(*branches.a).has_grad());
      ASSERT_TRUE(Branches::weight(*branches.b).has_grad());
      EXPECT_FALSE(Branches::weight(*branches.c).has_grad());
      // d(sum of 8 rows of biases) = 8 on each rank that uses it.
      EXPECT_FLOAT_EQ(values_of(branches.a->parameters()[1].parameter->grad())[0], 8.0f / 3);
      EXPECT_FLOAT_EQ(values_of(branches.b->parameters()[1].parameter->grad())[0], 16.0f / 3);
    }
  });
}

TEST(Unused, AParameterThatNoRankUsesKeepsItsGradient) {
  run_ranks(3, [](Rank& rank) {
    const Branches branches(rank, true);
    branches.backward(rank, {branches.a.get(), branches.b.get(), branches.c.get()});
    const std::vector<float> before = values_of(Branches::weight(*branches.c).grad());
    branches.backward(rank, {branches.a.get(), branches.b.get()});
    EXPECT_EQ(values_of(Branches::weight(*branches.c).grad()), before);
  });
}

// Backwards without sync count as use.
TEST(Unused, AGradientThatWasAccumulatedBeforeIsReduced) {
  run_ranks(2, [](Rank& rank) {
    const Branches branches(rank, true);
    branches.replica->begin_no_sync();
    if (rank.number() == 0) branches.backward(rank, {branches.c.get()});
    if (rank.number() == 1) branches.backward(rank, {branches.a.get()});
    branches.replica->end_no_sync();
    branches.backward(rank, {branches.b.get()});
    EXPECT_FLOAT_EQ(values_of(branches.c->parameters()[1].parameter->grad())[0], 6.0f);
  });
}

TEST(Unused, WithoutTheOptionAllRanksNameTheParametersAndTheRank) {
  run_ranks(3, [](Rank& rank) {
    const Branches branches(rank, false);
    const auto all = std::vector<nn::Linear*>{branches.a.get(), branches.b.get(), branches.c.get()};
    const Error error = error_of([&] {
      branches.backward(rank, rank.number() == 1 ? std::vector<nn::Linear*>{branches.a.get(), branches.c.get()} : all);
    });
    EXPECT_EQ(error.code(), Code::kState) << error.what();
    EXPECT_TRUE(contains(error, "1.weight on rank 1, 1.bias on rank 1")) << error.what();
    EXPECT_FALSE(contains(error, "rank 0")) << error.what();
    EXPECT_TRUE(contains(error, "find_unused_parameters")) << error.what();
    EXPECT_TRUE(Branches::weight(*branches.a).accumulator().gradient().is_invalid());
    // The group and the replica go on.
    for (const auto* layer : {&branches.a, &branches.b, &branches.c}) {
      for (const NamedParameter& named : (*layer)->parameters()) named.parameter->zero_grad();
    }
    branches.backward(rank, all);
    EXPECT_FLOAT_EQ(values_of(branches.b->parameters()[1].parameter->grad())[0], 8.0f);
  });
}

// A model whose backward throws on one rank, in the hook of its first layer, behind whole buckets.
TEST(FailedBackward, IsAnErrorOnAllRanksWhichGoOn) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Parameter> first = model->parameters()[0].parameter;
    bool fails = rank.number() == 2;
    first->post_accumulate_hooks().add([&fails](AccumulateGrad&) {
      if (fails) fail(Code::kCallback, "", "an error in a hook");
    });
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    const auto backward = [&] {
      run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 3)));
    };
    const Error error = error_of(backward);
    EXPECT_EQ(error.code(), rank.number() == 2 ? Code::kCallback : Code::kComm) << error.what();
    if (rank.number() != 2) {
      EXPECT_TRUE(contains(error, "rank 2 failed")) << error.what();
    }
    for (const NamedParameter& named : model->parameters()) EXPECT_FALSE(named.parameter->has_grad()) << named.name;
    fails = false;
    for (const NamedParameter& named : model->parameters()) named.parameter->zero_grad();
    backward();
    for (const NamedParameter& named : model->parameters()) EXPECT_TRUE(named.parameter->has_grad()) << named.name;
  });
}

TEST(FailedBackward, OfARankThatIsLostComesFromBackward) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    if (rank.number() == 1) return;  // its group goes
    const Error error =
        error_of([&] { run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 3))); });
    EXPECT_EQ(error.code(), Code::kPeerLost) << error.what();
    for (const NamedParameter& named : model->parameters()) EXPECT_FALSE(named.parameter->has_grad()) << named.name;
  });
}

TEST(FailedBackward, OfARankThatDoesNotComeIsATimeout) {
  std::latch ended(1);  // a rank that leaves before is lost
  run_ranks(
      2,
      [&](Rank& rank) {
        const Ref<nn::Module> model = make_perceptron(rank.device());
        const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
        if (rank.number() == 0) {
          const Error error =
              error_of([&] { run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, 0, 2))); });
          EXPECT_EQ(error.code(), Code::kTimeout) << error.what();
          EXPECT_TRUE(contains(error, "rank 1")) << error.what();
          EXPECT_TRUE(contains(error, "join")) << error.what();
          ended.count_down();
        } else {
          ended.wait();
        }
      },
      500 * kMillisecond);
}

// Rank r has 2 + r batches.
int batches_of(int rank) { return 2 + rank; }

std::vector<std::vector<float>> train_uneven(int size, bool divides_by_active) {
  std::vector<std::vector<float>> weights(static_cast<size_t>(size));
  run_ranks(size, [&](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    const Ref<optim::Optimizer> optimizer = make_sgd(*model);
    replica->begin_join(divides_by_active);
    for (int step = 0; step < batches_of(rank.number()); ++step) {
      optimizer->zero_grad();
      run_backward_of(perceptron_loss(*model, rank.device(), Part::of(step, rank.number(), size)));
      optimizer->step();
    }
    replica->end_join();
    weights[static_cast<size_t>(rank.number())] = weights_of(*model);
  });
  return weights;
}

// One rank that adds the losses of the ranks which have a batch.
std::vector<float> train_uneven_alone(int size, bool divides_by_active) {
  const Ref<Context> context = make_rank_context();
  ContextDevice& device = context->device("cpu");
  const Ref<nn::Module> model = make_perceptron(device);
  const Ref<optim::Optimizer> optimizer = make_sgd(*model);
  for (int step = 0; step < batches_of(size - 1); ++step) {
    optimizer->zero_grad();
    int active = 0;
    for (int rank = 0; rank < size; ++rank) active += step < batches_of(rank) ? 1 : 0;
    for (int rank = size - active; rank < size; ++rank) {
      const Tensor loss = perceptron_loss(*model, device, Part::of(step, rank, size));
      run_backward_of(ops::rescale(loss, 1.0 / (divides_by_active ? active : size), 0.0));
    }
    optimizer->step();
  }
  return weights_of(*model);
}

class JoinTest : public testing::TestWithParam<bool> {};

TEST_P(JoinTest, D16_RanksWithoutBatchesTakePartUntilAllHaveEnded) {
  const std::vector<float> expected = train_uneven_alone(4, GetParam());
  for (const std::vector<float>& weights : train_uneven(4, GetParam())) {
    EXPECT_LT(relative_difference(weights, expected), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Divisors, JoinTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "RanksWithBatches" : "AllRanks"; });

TEST(Join, OfRanksThatHaveNoBatchAtAllEnds) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    replica->begin_join(false);
    replica->end_join();
    EXPECT_EQ(error_of([&] { replica->end_join(); }).code(), Code::kState);
  });
}

TEST(Join, D16_WithoutItAnotherNumberOfBatchesIsAnErrorThatTellsSo) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    const auto backward = [&] {
      run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 3)));
    };
    backward();
    if (rank.number() == 1) {
      EXPECT_EQ(barrier_of(*rank.group).code, Code::kComm);
      return;
    }
    const Error error = error_of(backward);
    EXPECT_EQ(error.code(), Code::kComm) << error.what();
    EXPECT_TRUE(contains(error, "join")) << error.what();
    EXPECT_TRUE(contains(error, "barrier")) << error.what();
  });
}

// Gradients of another engine, in memory of its own.
TEST(MarkReady, BroughtGradientsAreAveragedInTheirMemory) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model->parameters(), small_buckets());
    for (int step = 0; step < 2; ++step) {
      std::vector<Tensor> brought;
      for (const NamedParameter& named : model->parameters()) {
        brought.push_back(full(rank.device(), DType::kF32, named.parameter->shape(), 3.0 + 2.0 * rank.number() + step));
        named.parameter->accumulator().bring_grad(brought.back());
        replica->mark_ready(*named.parameter);
      }
      replica->finish();
      for (const Tensor& tensor : brought) EXPECT_EQ(values_of(tensor)[0], 4.0f + static_cast<float>(step));
      EXPECT_EQ(model->parameters()[0].parameter->grad().data(), brought[0].data());
    }
  });
}

TEST(MarkReady, GradientsInTheBucketsAreNotCopied) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model->parameters(), small_buckets());
    for (const NamedParameter& named : model->parameters()) {
      AccumulateGrad& leaf = named.parameter->accumulator();
      fill(leaf.sink().tensor, rank.number());
      leaf.mark_stored();
      replica->mark_ready(*named.parameter);
    }
    replica->finish();
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(model->parameters()[i].parameter->grad().data(), replica->buckets().view_of(i).data());
      EXPECT_EQ(values_of(model->parameters()[i].parameter->grad())[0], 0.5f);
    }
  });
}

TEST(MarkReady, TwiceOrWithoutGradientOrOfAStrangerIsAnError) {
  run_ranks(1, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model->parameters(), small_buckets());
    Parameter& parameter = *model->parameters()[0].parameter;
    EXPECT_TRUE(contains(error_of([&] { replica->mark_ready(parameter); }), "has no gradient"));
    EXPECT_TRUE(contains(error_of([&] { replica->finish(); }), "no gradient was marked"));
    fill(parameter.accumulator().sink().tensor, 1.0);
    parameter.accumulator().mark_stored();
    replica->mark_ready(parameter);
    EXPECT_TRUE(contains(error_of([&] { replica->mark_ready(parameter); }), "complete already"));
    EXPECT_TRUE(contains(error_of([&] { replica->finish(); }), "0.bias on rank 0"));
    const Ref<nn::Module> other = make_perceptron(rank.device());
    EXPECT_TRUE(contains(error_of([&] { replica->mark_ready(*other->parameters()[0].parameter); }), "no parameter"));
  });
}

TEST(MarkReady, ABackwardAndMarkedGradientsExcludeEachOther) {
  run_ranks(1, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Parameter> last = model->parameters()[3].parameter;
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    const auto loss = [&] { return perceptron_loss(*model, rank.device(), Part::of(0, 0, 1)); };
    {
      const Ref<Hook> marks = last->post_accumulate_hooks().add([&](AccumulateGrad&) { replica->mark_ready(*last); });
      EXPECT_TRUE(contains(error_of([&] { run_backward_of(loss()); }), "a backward is under way"));
      marks->remove();
    }
    for (const NamedParameter& named : model->parameters()) named.parameter->zero_grad();
    run_backward_of(loss());
    const std::vector<float> marked = values_of(last->accumulator().grad());
    for (const NamedParameter& named : model->parameters()) replica->mark_ready(*named.parameter);
    // Refused before it writes: the group's threads use the gradients now.
    EXPECT_TRUE(contains(error_of([&] { run_backward_of(loss()); }), "finish them before a backward"));
    replica->finish();
    EXPECT_EQ(values_of(last->accumulator().grad()), marked);
    run_backward_of(loss());
  });
}

// One gradient of one rank overflows, in every third step.
TEST(NotFinite, D15_AnInfinityOnOneRankSkipsTheStepOfAllAndNamesTheRank) {
  std::vector<std::vector<float>> weights(3);
  run_ranks(3, [&](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Parameter> culprit = model->parameters()[1].parameter;
    bool breaks = false;
    add_gradient_hook(culprit->leaf(), [&](const Tensor& grad) {
      return breaks ? full(rank.device(), DType::kF32, grad.shape(), std::numeric_limits<double>::infinity())
                    : Tensor();
    });
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    optim::GradScaler scaler(rank.device(), {}, 1024.0f, true);
    for (int step = 0; step < 6; ++step) {
      optimizer->zero_grad();
      breaks = rank.number() == 1 && step % 3 == 1;
      const std::vector<float> before = weights_of(*model);
      const float scale = scaler.current_scale();
      const Tensor loss = perceptron_loss(*model, rank.device(), Part::of(step, rank.number(), 3));
      run_backward_of(scaler.scale(loss));
      scaler.step(*optimizer);
      scaler.update();
      optimizer->zero_grad();
      const optim::Optimizer::Outcome outcome = optimizer->outcome();
      EXPECT_EQ(outcome.skipped, step % 3 == 1) << step;
      EXPECT_EQ(weights_of(*model) == before, outcome.skipped);
      EXPECT_EQ(scaler.current_scale(), outcome.skipped ? scale / 2 : scale);
      EXPECT_EQ(outcome.rank, outcome.skipped ? 1 : -1);
      if (outcome.skipped) {
        EXPECT_STREQ(outcome.offending, "0.bias");
      }
    }
    weights[static_cast<size_t>(rank.number())] = weights_of(*model);
  });
  EXPECT_EQ(weights[1], weights[0]);
  EXPECT_EQ(weights[2], weights[0]);
}

}  // namespace
}  // namespace halftone::parallel
