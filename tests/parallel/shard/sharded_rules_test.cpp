// Sharded training beside its straight path: backwards that fail or leave out parameters, gradients of several
// backwards, values that are not finite, and frozen parameters.
#include <functional>
#include <limits>
#include <vector>

#include "autograd/gradient_hook.h"
#include "autograd/weights/weights.h"
#include "optim/grad_scaler.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

constexpr Sharding kShardings[] = {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull};

Part part_of(const Rank& rank, int step = 0) { return Part::of(step, rank.number(), rank.group->size()); }

void backward(const nn::Module& model, Rank& rank, int step = 0) {
  run_backward_of(perceptron_loss(model, rank.device(), part_of(rank, step)));
}

TEST(ShardedRules, AParameterWithoutAGradientIsNamedOnAllRanks) {
  run_ranks(3, [](Rank& rank) {
    const auto used = make_ref<nn::Linear>(rank.device(), kFeatures, 3, true, DType::kF32);
    const auto other = make_ref<nn::Linear>(rank.device(), kFeatures, 3, true, DType::kF32);
    const auto model = make_ref<nn::Sequential>(std::vector<Ref<nn::Module>>{used, other});
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kGradients));
    const Tensor input = make_rows(rank.device(), part_of(rank), {kFeatures}, 0.7);
    const Tensor loss = ops::sum(used->run(input), {}, false);
    const Error error = error_of([&] { run_backward_of(loss); });
    EXPECT_EQ(error.code(), Code::kState);
    EXPECT_TRUE(contains(error, "1.weight on rank 0")) << error.what();
    EXPECT_FALSE(used->parameters()[0].parameter->has_shard_grad());
  });
}

// The other ranks are told the name of the rank and the difference; afterwards the group still works.
TEST(ShardedRules, D26_AModelThatOneRankCannotShardIsToldOnAll) {
  const struct {
    std::function<Ref<nn::Module>(ContextDevice&, std::vector<Ref<optim::Optimizer>>&)> make;
    Code own;
    const char* own_text;
    const char* text;
  } cases[] = {
      {[](ContextDevice& device, auto&) -> Ref<nn::Module> {
         return make_ref<nn::Sequential>(
             std::vector<Ref<nn::Module>>{make_ref<nn::Linear>(device, kFeatures, kHidden, true, DType::kBF16)});
       },
       Code::kDtypeMismatch, "parameter 0.weight is bf16, expected f32 weights",
       "] bf16 where rank 0 has parameter 0.weight ["},
      {[](ContextDevice& device, auto& optimizers) {
         const Ref<nn::Module> model = make_perceptron(device);
         optimizers.push_back(make_adamw(*model));
         return model;
       },
       Code::kState, "has an optimizer; shard the module first", "has refused: parameter 0.weight has an optimizer"},
      {[](ContextDevice& device, auto&) {
         const Ref<nn::Module> model = make_perceptron(device);
         for (const NamedParameter& named : model->parameters()) named.parameter->set_frozen(true);
         return model;
       },
       Code::kState, "every parameter is frozen", "has frozen parameter 0.weight"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.own_text);
    run_ranks(3, [&](Rank& rank) {
      std::vector<Ref<optim::Optimizer>> optimizers;
      const bool is_spoiled = rank.number() == 1;
      {
        const Ref<nn::Module> model =
            is_spoiled ? test.make(rank.device(), optimizers) : make_perceptron(rank.device());
        const Error error = error_of([&] { shard(rank, *model, small_units(Sharding::kFull)); });
        EXPECT_EQ(error.code(), is_spoiled ? test.own : Code::kComm) << error.what();
        EXPECT_TRUE(contains(error, is_spoiled ? test.own_text : test.text)) << error.what();
        EXPECT_TRUE(is_spoiled || contains(error, "rank 1 differs from that of rank 0")) << error.what();
      }
      const Ref<nn::Module> model = make_perceptron(rank.device());
      const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kFull));
      backward(*model, rank);
    });
  }
}

// Ranks 2 and 3 are the second group.
TEST(ShardedRules, D26_HybridShardingTellsAllGroupsOfAParameterOfAnotherDtype) {
  const OwnedStore store = create_memory_store();
  run_ranks(4, [&](Rank& world) {
    const HybridGroups groups(world, *store);
    const bool is_spoiled = world.number() == 3;
    const auto model =
        make_ref<nn::Linear>(world.device(), kFeatures, kHidden, true, is_spoiled ? DType::kBF16 : DType::kF32);
    const Error error =
        error_of([&] { Sharded::create(*groups.shards, groups.replicas.get(), *model, small_units(Sharding::kFull)); });
    EXPECT_EQ(error.code(), is_spoiled ? Code::kDtypeMismatch : Code::kComm) << error.what();
    EXPECT_TRUE(contains(error, is_spoiled ? "parameter weight is bf16" : "rank 3 has parameter weight ["))
        << error.what();
    EXPECT_TRUE(is_spoiled || contains(error, "] bf16 where rank 0 has parameter weight [")) << error.what();
  });
}

TEST(ShardedRules, ABackwardThatFailsOnOneRankIsAnErrorOfAllWhichGoOn) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    bool fails = false;
    add_gradient_hook(model->parameters()[0].parameter->leaf(), [&](const Tensor&) {
      if (fails) fail(Code::kCallback, "", "the hook of a test");
      return Tensor();
    });
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kGradients));
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    fails = rank.number() == 1;
    const Error error = error_of([&] { backward(*model, rank); });
    EXPECT_EQ(error.code(), fails ? Code::kCallback : Code::kComm) << error.what();
    EXPECT_TRUE(fails || contains(error, "backward 1 of rank 1 failed")) << error.what();
    EXPECT_EQ(error_of([&] { optimizer->step(); }).code(), Code::kState);
    fails = false;
    optimizer->zero_grad();
    backward(*model, rank);
    optimizer->step();
    EXPECT_EQ(optimizer->step_count(), 1);
  });
}

// Sums of backwards that were reduced each, and of those that were added on the ranks first.
// The backward needs absent weights before it has a gradient.
TEST(ShardedRules, ABackwardIsRefusedUntilMarkedGradientsAreFinished) {
  run_ranks(1, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kFull));
    Parameter& first = *model->parameters()[0].parameter;
    const Tensor loss = perceptron_loss(*model, rank.device(), Part::of(0, 0, 1));
    fill(first.accumulator().sink().tensor, 1.0);
    first.accumulator().mark_stored();
    sharded->mark_ready(first);
    EXPECT_TRUE(contains(error_of([&] { run_backward_of(loss); }), "finish them before a backward"));
    EXPECT_TRUE(contains(error_of([&] { sharded->finish(); }), "0.bias on rank 0"));
    run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, 0, 1)));
    EXPECT_TRUE(first.has_shard_grad());
  });
}

TEST(ShardedRules, GradientsOfSeveralBackwardsAreAdded) {
  for (const Sharding sharding : kShardings) {
    SCOPED_TRACE(static_cast<int>(sharding));
    std::vector<float> weights[2];
    for (const bool syncs : {true, false}) {
      run_ranks(2, [&](Rank& rank) {
        const Ref<nn::Module> model = make_perceptron(rank.device());
        const Ref<Sharded> sharded = shard(rank, *model, small_units(sharding));
        const Ref<optim::Optimizer> optimizer = make_sgd(*model);
        for (int step = 0; step < 3; ++step) {
          optimizer->zero_grad();
          if (!syncs) sharded->begin_no_sync();
          backward(*model, rank, 3 * step);
          backward(*model, rank, 3 * step + 1);
          if (!syncs) sharded->end_no_sync();
          backward(*model, rank, 3 * step + 2);
          optimizer->step();
        }
        const std::vector<float> own = gathered_weights(*sharded, *model);
        if (rank.number() == 0) weights[syncs ? 0 : 1] = own;
      });
    }
    EXPECT_LE(relative_difference(weights[0], weights[1]), 1e-6);
  }
}

TEST(ShardedRules, D15_AnInfinityOnOneRankSkipsTheStepOfAllAndNamesTheRank) {
  for (const Sharding sharding : kShardings) {
    SCOPED_TRACE(static_cast<int>(sharding));
    run_ranks(3, [&](Rank& rank) {
      const Ref<nn::Module> model = make_perceptron(rank.device());
      bool breaks = false;
      add_gradient_hook(model->parameters()[1].parameter->leaf(), [&](const Tensor& grad) {
        return breaks ? full(rank.device(), DType::kF32, grad.shape(), std::numeric_limits<double>::infinity())
                      : Tensor();
      });
      const Ref<Sharded> sharded = shard(rank, *model, small_units(sharding));
      const Ref<optim::Optimizer> optimizer = make_adamw(*model);
      optim::GradScaler scaler(rank.device(), {}, 1024.0f, true);
      for (int step = 0; step < 3; ++step) {
        optimizer->zero_grad();
        breaks = rank.number() == 1 && step == 1;
        const std::vector<float> before = gathered_weights(*sharded, *model);
        run_backward_of(scaler.scale(perceptron_loss(*model, rank.device(), part_of(rank, step))));
        scaler.step(*optimizer);
        const optim::Optimizer::Outcome outcome = optimizer->outcome();
        scaler.update();
        EXPECT_EQ(outcome.skipped, step == 1);
        EXPECT_EQ(gathered_weights(*sharded, *model) == before, outcome.skipped);
        if (!outcome.skipped) continue;
        EXPECT_STREQ(outcome.offending, "0.bias");
        EXPECT_EQ(outcome.rank, 1);
      }
    });
  }
}

TEST(ShardedRules, GradientsOfAScaledLossNeedTheScaler) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kFull));
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    optim::GradScaler scaler(rank.device(), {}, 1024.0f, true);
    run_backward_of(scaler.scale(perceptron_loss(*model, rank.device(), part_of(rank))));
    EXPECT_EQ(error_of([&] { optimizer->step(); }).code(), Code::kState);
  });
}

TEST(ShardedRules, FrozenParametersStayAndLetGradientsThrough) {
  for (const Sharding sharding : kShardings) {
    SCOPED_TRACE(static_cast<int>(sharding));
    run_ranks(2, [&](Rank& rank) {
      const Ref<nn::Module> model = make_perceptron(rank.device());
      const Ref<Parameter> frozen = model->parameters()[2].parameter;  // of the last layer
      const std::vector<float> first = values_of(model->parameters()[0].parameter->weights().master());
      frozen->set_frozen(true);
      const std::vector<float> kept = values_of(frozen->weights().master());
      const Ref<Sharded> sharded = shard(rank, *model, small_units(sharding));
      std::vector<NamedParameter> trained = model->parameters();
      trained.erase(trained.begin() + 2);
      optim::AdamW optimizer({.parameters = trained, .precision = {}},
                             {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0});
      backward(*model, rank);
      optimizer.step();
      sharded->begin_gather();
      EXPECT_EQ(values_of(frozen->weights().tensor()), kept);
      EXPECT_GT(relative_difference(values_of(model->parameters()[0].parameter->weights().tensor()), first), 1e-3);
      sharded->end_gather();
    });
  }
}

// Weights that every rank has are whole again when the step returns.
TEST(ShardedRules, ARankEvaluatesAloneWhereWeightsAreNotShared) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kGradients));
    const Ref<optim::Optimizer> optimizer = make_sgd(*model);
    backward(*model, rank);
    optimizer->step();
    settle(*model);
    const int64_t before = rank.group->counters().operations;
    if (rank.number() == 1) static_cast<void>(model->run(full(rank.device(), DType::kF32, {1, kFeatures}, 0.5)));
    EXPECT_EQ(rank.group->counters().operations, before);
  });
}

TEST(ShardedRules, AnotherModelOrOtherOptionsAreNamedOnAllRanks) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device(), rank.number() == 0 ? 8 : 9);
    const Error error = error_of([&] { shard(rank, *model, small_units(Sharding::kFull)); });
    EXPECT_EQ(error.code(), Code::kComm);
    EXPECT_TRUE(contains(error, "the model of rank 1 differs")) << error.what();
    const Ref<nn::Module> same = make_perceptron(rank.device());
    const Sharding own = rank.number() == 0 ? Sharding::kFull : Sharding::kOptimizer;
    const Error options = error_of([&] { shard(rank, *same, small_units(own)); });
    EXPECT_TRUE(contains(options, "options: sharding 1")) << options.what();
    EXPECT_FALSE(same->parameters()[0].parameter->is_sharded());
  });
}

}  // namespace
}  // namespace halftone::parallel
