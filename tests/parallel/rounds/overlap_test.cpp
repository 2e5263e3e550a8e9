// Communication runs while backward computes, and buffers follow rank 0.
#include <mutex>
#include <thread>

#include "autograd/scope.h"
#include "parallel/shards.h"
#include "parallel/slow_group.h"

namespace halftone::parallel {
namespace {

// The first layer's hook, the last of backward, waits until the first bucket is sent. If nothing was started
// before the end of backward, it waits in vain.
TEST(Overlap, TheFirstBucketIsOnItsWayBeforeBackwardEnds) {
  run_ranks(2, [](Rank& rank) {
    SlowGroup slow(*rank.group, 1e6);
    const Ref<nn::Module> model = make_perceptron(rank.device());
    int64_t last_gradient = 0;
    model->parameters()[0].parameter->post_accumulate_hooks().add([&](AccumulateGrad&) {
      for (int i = 0; i < 60'000 && slow.spans().empty(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      last_gradient = slow.now();
    });
    const Ref<Replicate> replica = make_ref<Replicate>(slow, model, small_buckets());
    run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 2)));
    const std::vector<SlowGroup::Span> spans = slow.spans();
    ASSERT_GT(spans.size(), 1u);
    EXPECT_LT(spans.front().end, last_gradient) << "an average was complete while backward ran";
    EXPECT_GT(spans.back().begin, last_gradient) << "the last bucket waits for the last gradient";
    for (size_t i = 1; i < spans.size(); ++i) EXPECT_GT(spans[i].begin, spans[i - 1].end);
  });
}

// The first bucket of each kind does not wait for the end of backward.
TEST(Overlap, GradientsThatRanksShareAreOnTheirWayBeforeBackwardEnds) {
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull}) {
    run_ranks(2, [&](Rank& rank) {
      SlowGroup slow(*rank.group, 1e7);
      const Ref<nn::Module> model = make_perceptron(rank.device());
      ShardedOptions options = small_units(sharding);
      options.bucket_bytes = 256;
      options.units.least_elements = 1;
      const Ref<Sharded> sharded = Sharded::create(slow, nullptr, *model, options);
      const Tensor loss = perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 2));
      const size_t before = slow.spans().size();
      bool is_on_its_way = false;
      model->parameters()[0].parameter->post_accumulate_hooks().add([&](AccumulateGrad&) {
        for (int i = 0; i < 60'000 && !is_on_its_way; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          is_on_its_way = slow.spans().size() > before;
        }
      });
      run_backward_of(loss);
      EXPECT_TRUE(is_on_its_way) << static_cast<int>(sharding);
    });
  }
}

// Statistics of rank 0 reach the others before a forward in training, and only then.
TEST(Buffers, FollowRankZeroBeforeForwardsInTraining) {
  run_ranks(3, [](Rank& rank) {
    const Ref<nn::Module> model = image_model().make_model(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    const Tensor mean = model->buffers()[0].tensor;
    const Part part = Part::of(0, rank.number(), 3);
    fill(mean, rank.number() + 1);
    model->set_training(false);
    model->run(make_rows(rank.device(), part, {2, 6, 6}, 0.7));
    EXPECT_EQ(values_of(mean)[0], static_cast<float>(rank.number() + 1)) << "evaluation is the rank's own";
    model->set_training(true);
    {
      ScopeGuard guard;
      scope().grad_enabled = false;
      if (rank.number() == 0) model->run(make_rows(rank.device(), part, {2, 6, 6}, 0.7));
    }
    fill(mean, rank.number() + 1);
    const Part same = Part::of(0, 0, 3);
    model->run(make_rows(rank.device(), same, {2, 6, 6}, 0.7));
    static std::mutex mutex;
    static std::vector<float> first;
    const std::lock_guard lock(mutex);
    if (first.empty()) first = values_of(mean);
    EXPECT_EQ(values_of(mean), first) << "all ranks began with rank 0's mean";
  });
}

TEST(Buffers, StayOnTheirRankWithoutTheOption) {
  run_ranks(2, [](Rank& rank) {
    ReplicateOptions options = small_buckets();
    options.broadcasts_buffers = false;
    const Ref<nn::Module> model = image_model().make_model(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, options);
    const int64_t before = rank.group->counters().operations;
    model->run(make_rows(rank.device(), Part::of(0, rank.number(), 2), {2, 6, 6}, 0.7));
    EXPECT_EQ(rank.group->counters().operations, before);
  });
}

// Ranks with other numbers of batches exchange buffers, too.
TEST(Buffers, FollowARankWithBatchesInAJoin) {
  std::vector<std::vector<float>> means(3);
  run_ranks(3, [&](Rank& rank) {
    const Task task = image_model();
    const Ref<nn::Module> model = task.make_model(rank.device());
    const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
    const Ref<optim::Optimizer> optimizer = make_sgd(*model);
    replica->begin_join(true);
    for (int step = 0; step < 1 + rank.number(); ++step) {
      optimizer->zero_grad();
      run_backward_of(task.loss(*model, rank.device(), Part::of(step, rank.number(), 3)));
      optimizer->step();
    }
    replica->end_join();
    means[static_cast<size_t>(rank.number())] = values_of(model->buffers()[0].tensor);
  });
  EXPECT_EQ(means[1], means[0]);
  EXPECT_EQ(means[2], means[0]);
}

}  // namespace
}  // namespace halftone::parallel
