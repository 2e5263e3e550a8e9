// Communication runs while backward computes, and buffers follow rank 0.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "autograd/scope.h"
#include "replicas.h"

namespace halftone::parallel {
namespace {

// A group whose averages take as long as their bytes need at a rate. They run one after another on a thread of its own,
// through another group, which does everything else at once.
class SlowGroup final : public ProcessGroup {
 public:
  SlowGroup(ProcessGroup& group, double bytes_per_second) : group_(group), rate_(bytes_per_second) {}
  ~SlowGroup() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }

  // When operations began and ended, as numbers of a count that the test shares.
  struct Span {
    int64_t begin, end;
  };
  std::vector<Span> spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
  }
  int64_t now() { return clock_.fetch_add(1); }
  double slept() const { return slept_; }

  void destroy() noexcept override {}
  const char* kind() const noexcept override { return group_.kind(); }
  int32_t rank() const noexcept override { return group_.rank(); }
  int32_t size() const noexcept override { return group_.size(); }
  Status all_reduce(const CallOptions& options, ReduceOp op, const View& in, const View& out,
                    Work** out_work) noexcept override {
    const std::shared_ptr<State> state = std::make_shared<State>();
    const double bytes = static_cast<double>(in.numel()) * static_cast<double>(size_of(in.dtype));
    const std::lock_guard lock(mutex_);
    queue_.push_back([=, this] {
      const int64_t begin = now();
      std::this_thread::sleep_for(std::chrono::duration<double>(bytes / rate_));
      slept_ = slept_ + bytes / rate_;
      state->result = result_of([&](Work** work) { return group_.all_reduce(options, op, in, out, work); });
      {
        const std::lock_guard inner(mutex_);
        spans_.push_back({begin, now()});
      }
      state->finish();
    });
    changed_.notify_one();
    *out_work = new SlowWork(state);
    return {};
  }
  Status all_gather(const CallOptions& o, const View& in, const View& out, Work** work) noexcept override {
    return group_.all_gather(o, in, out, work);
  }
  Status reduce_scatter(const CallOptions& o, ReduceOp op, const View& in, const View& out,
                        Work** work) noexcept override {
    return group_.reduce_scatter(o, op, in, out, work);
  }
  Status broadcast(const CallOptions& o, int32_t root, const View& data, Work** work) noexcept override {
    return group_.broadcast(o, root, data, work);
  }
  Status all_to_all(const CallOptions& o, const View& in, const View& out, Work** work) noexcept override {
    return group_.all_to_all(o, in, out, work);
  }
  Status send(const CallOptions& o, int32_t peer, const View& data, Work** work) noexcept override {
    return group_.send(o, peer, data, work);
  }
  Status receive(const CallOptions& o, int32_t peer, const View& data, Work** work) noexcept override {
    return group_.receive(o, peer, data, work);
  }
  Status barrier(const CallOptions& o, Work** work) noexcept override { return group_.barrier(o, work); }
  void abort(const char* reason) noexcept override { group_.abort(reason); }
  GroupCounters counters() const noexcept override { return group_.counters(); }
  Status link_cost(LinkCost* out) const noexcept override { return group_.link_cost(out); }
  size_t describe_operations(char* out, size_t capacity) const noexcept override {
    return group_.describe_operations(out, capacity);
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
    Status result;

    void finish() {
      const std::lock_guard lock(mutex);
      is_done = true;
      changed.notify_all();
    }
  };
  class SlowWork final : public Work {
   public:
    explicit SlowWork(std::shared_ptr<State> state) : state_(std::move(state)) {}
    void destroy() noexcept override { delete this; }
    bool is_done() noexcept override {
      const std::lock_guard lock(state_->mutex);
      return state_->is_done;
    }
    Status wait() noexcept override {
      std::unique_lock lock(state_->mutex);
      state_->changed.wait(lock, [&] { return state_->is_done; });
      return state_->result;
    }
    Status wait_on(Stream&) noexcept override { return wait(); }

   private:
    const std::shared_ptr<State> state_;
  };

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return is_closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const std::function<void()> next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  ProcessGroup& group_;
  const double rate_;
  std::atomic<int64_t> clock_{0};
  std::atomic<double> slept_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
  std::deque<std::function<void()>> queue_;
  std::vector<Span> spans_;
  std::thread thread_{[this] { run(); }};
};

// The first layer's hook, the last of backward, waits until the first bucket is on its way. If nothing was started
// before the end of backward, it waits in vain.
TEST(Overlap, TheFirstBucketIsOnItsWayBeforeBackwardEnds) {
  run_ranks(2, [](Rank& rank) {
    SlowGroup slow(*rank.group, 1e6);
    const Ref<nn::Module> model = make_perceptron(rank.device());
    int64_t last_gradient = 0;
    model->parameters()[0].parameter->post_accumulate_hooks().add([&](AccumulateGrad&) {
      for (int i = 0; i < 2000 && slow.spans().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
