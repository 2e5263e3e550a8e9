// Steps of two ranks whose messages take as long as a link of some rate needs, beside computation and communication
// alone: how much of the communication runs while a rank computes.
//   overlap_bench [--layers N] [--width N] [--batch N] [--rounds N] [--bucket KIB] [--first KIB]
//     [--sleep US] [--wait 1] [--gloo PATH]
// The ranks are threads with one thread of computation each, and train linear layers with AdamW. For each kind of
// sharing the link's rate is chosen so that a step's messages take a quarter, a half, all and twice of the time of a
// step without messages. In every round each contender takes three steps, in turn. One more before them is not timed,
// so that weights which arrive after the last step are weighed up by those of the step before the first.
//
// Ratios are the medians of the ratios within the rounds, of a step to the longer of computation and communication.
// "bound" is the same ratio of a step whose messages all run beside computation, as early as the kind of sharing lets
// them: averages and sums of gradients while backward computes, weights of "optimizer" and "gradients" beside update
// and forward, and those of "full" beside forward and backward. "updates" is the bound of a step of ddp that would also
// update the weights of a bucket while the gradients of others are sent.
//
// Buckets have --bucket KiB, and the first one of ddp --first KiB; 0, the default, takes the library's own sizes. With
// --sleep a layer sleeps for as many microseconds in forward, and for twice as many in backward: then other programs
// disturb less, if layers are small (--width 256 --batch 8 --first 256 --bucket 256). With --wait 1 a step waits for
// the weights that it has changed.
//
// With the path of libhalftone_gloo.so the link is Gloo's over the loopback, which takes processor time as well; then
// "share" is empty, communication alone is a step's averages without its computation, and the operations of the last
// step are listed with their times.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "autograd/engine.h"
#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "comm/ranks.h"
#include "nn/activations.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "ops/ops.h"
#include "optim/adamw.h"
#include "parallel/replicate/replicate.h"
#include "parallel/shard/sharded.h"
#include "parallel/slow_group.h"
#include "tensor/factory.h"

namespace halftone::parallel {
namespace {

constexpr int kRanks = 2;
constexpr double kShares[] = {0.25, 0.5, 1.0, 2.0};

constexpr int kTimedSteps = 3;

struct Setting {
  int layers, width, batch, rounds;
  int64_t bucket_bytes, first_bytes;  // 0: the library's own
  std::chrono::microseconds sleep;    // of a layer's forward
  bool waits;                         // for all weights, in each step
};

// Before ranks share the model, so that its hooks come first.
void add_sleep(nn::Module& layer, std::chrono::microseconds forward) {
  layer.forward_pre_hooks().add([forward](const nn::Module&, std::span<const Tensor>, std::span<Tensor>) {
    std::this_thread::sleep_for(forward);
  });
  layer.parameters().front().parameter->post_accumulate_hooks().add(
      [forward](AccumulateGrad&) { std::this_thread::sleep_for(2 * forward); });
}

enum class Kind { kAlone, kReplicate, kOptimizer, kGradients, kFull };

Sharding sharding_of(Kind kind) {
  if (kind == Kind::kFull) return Sharding::kFull;
  return kind == Kind::kOptimizer ? Sharding::kOptimizer : Sharding::kGradients;
}

class Contender {
 public:
  // Without a group for kAlone.
  Contender(const Setting& setting, Kind kind, ProcessGroup* group)
      : context_(make_rank_context()),
        device_(context_->device("cpu")),
        waits_(setting.waits),
        input_(full(device_, DType::kF32, {setting.batch, setting.width}, 0.01)) {
    std::vector<Ref<nn::Module>> layers;
    for (int i = 0; i < setting.layers; ++i) {
      layers.push_back(make_ref<nn::Linear>(device_, setting.width, setting.width, true, DType::kF32));
      if (setting.sleep.count() > 0) add_sleep(*layers.back(), setting.sleep);
      layers.push_back(make_ref<nn::Relu>());
    }
    model_ = make_ref<nn::Sequential>(std::move(layers));
    if (kind == Kind::kReplicate) {
      ReplicateOptions options;
      if (setting.first_bytes > 0) options.bucket_sizes.first = setting.first_bytes;
      if (setting.bucket_bytes > 0) options.bucket_sizes.others = setting.bucket_bytes;
      replica_ = make_ref<Replicate>(*group, model_, options);
    } else if (kind != Kind::kAlone) {
      ShardedOptions options;
      options.sharding = sharding_of(kind);
      if (setting.bucket_bytes > 0) options.bucket_bytes = setting.bucket_bytes;
      sharded_ = Sharded::create(*group, nullptr, *model_, options);
    }
    const AdamwGroup adamw{.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01};
    optimizer_ =
        make_ref<optim::AdamW>(optim::ParameterGroup{.parameters = model_->parameters(), .precision = {}}, adamw);
  }

  void step() {
    optimizer_->zero_grad();
    const Stopwatch watch(TimeOf::kWall);
    const Tensor loss = ops::sum(model_->run(input_), {}, false);
    const double forward = watch.seconds();
    run_backward(loss, Tensor(), false);
    backward_ = watch.seconds() - forward;
    optimizer_->step();
    update_ = watch.seconds() - forward - backward_;
    if (waits_) settle();
  }
  // Waits for the weights whose gather the last step started.
  void settle() { model_->parameters().front().parameter->placement().settle(); }
  // The averages of a step of ddp, of the gradients that are there.
  void communicate() {
    for (const NamedParameter& named : model_->parameters()) replica_->mark_ready(*named.parameter);
    replica_->finish();
  }
  // The seconds of the last step's backward, and of its update.
  double backward() const { return backward_; }
  double update() const { return update_; }

 private:
  const Ref<Context> context_;
  ContextDevice& device_;
  const bool waits_;
  const Tensor input_;
  Ref<nn::Module> model_;
  Ref<Replicate> replica_;
  Ref<Sharded> sharded_;
  Ref<optim::Optimizer> optimizer_;
  double backward_ = 0;
  double update_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Both ranks take part in each call; rank 0 measures.
template <class Function>
double time_of(std::barrier<>& together, Function&& function) {
  together.arrive_and_wait();
  const Stopwatch watch(TimeOf::kWall);
  function();
  together.arrive_and_wait();
  return watch.seconds();
}

double time_of_step(std::barrier<>& together, Contender& contender) {
  contender.step();
  const double seconds = time_of(together, [&] {
    for (int i = 0; i < kTimedSteps; ++i) contender.step();
  });
  contender.settle();
  return seconds / kTimedSteps;
}

// The least time of a step in which computation takes `alone`, `backward` of it beside the messages of gradients, and
// messages `communication`. Weights that are gathered after the update are there before backward begins.
double bound_of(Kind kind, double alone, double backward, double communication) {
  const bool is_replica = kind == Kind::kReplicate || kind == Kind::kAlone;
  const double share = is_replica ? 1.0 : kind == Kind::kFull ? 2.0 / 3 : 0.5;  // of messages beside backward
  return std::max(alone - backward, (1 - share) * communication) + std::max(backward, share * communication);
}

struct Result {
  double alone, communication, step, ratio, bound, updates;
};

// The times of all rounds.
class Times {
 public:
  // `alone` is that of a step of the contender without messages.
  void add(Kind kind, const Contender& contender, double alone, double communication, double step) {
    alone_.push_back(alone);
    communication_.push_back(communication);
    step_.push_back(step);
    const double longer = std::max(alone, communication), backward = contender.backward();
    ratios_.push_back(step / longer);
    bounds_.push_back(bound_of(kind, alone, backward, communication) / longer);
    const double updated = kind == Kind::kReplicate ? backward + contender.update() : backward;
    updates_.push_back(bound_of(kind, alone, updated, communication) / longer);
  }
  Result result() const {
    return {median(alone_), median(communication_), median(step_), median(ratios_), median(bounds_), median(updates_)};
  }

 private:
  std::vector<double> alone_, communication_, step_, ratios_, bounds_, updates_;
};

// The rate is found from a step's bytes and the time of a step without messages.
Result measure(Rank& rank, std::barrier<>& together, const Setting& setting, Kind kind, double share) {
  Contender alone(setting, Kind::kAlone, nullptr);
  SlowGroup fast(*rank.group, 1e15);
  std::vector<double> computation;
  for (int i = 0; i < 4; ++i) computation.push_back(time_of_step(together, alone));
  double bytes = 0;
  {
    Contender probe(setting, kind, &fast);
    probe.step();
    probe.settle();
    const double before = fast.slept();
    probe.step();
    probe.settle();
    bytes = (fast.slept() - before) * 1e15;
  }
  static double chosen = 0;
  if (rank.number() == 0) chosen = bytes / (share * *std::min_element(computation.begin() + 1, computation.end()));
  together.arrive_and_wait();
  SlowGroup slow(*rank.group, chosen);
  Contender shared(setting, kind, &slow);
  shared.step();
  shared.settle();
  Times times;
  for (int round = 0; round < setting.rounds; ++round) {
    const double computed = time_of_step(together, alone);
    const double before = slow.slept();
    const double step = time_of_step(together, shared);
    times.add(kind, alone, computed, (slow.slept() - before) / (kTimedSteps + 1), step);
  }
  return times.result();
}

// Over a group as it is.
Result measure_link(std::barrier<>& together, const Setting& setting, ProcessGroup& group) {
  Contender alone(setting, Kind::kAlone, nullptr), shared(setting, Kind::kReplicate, &group);
  alone.step();
  for (int i = 0; i < 2; ++i) shared.step();
  Times times;
  for (int round = 0; round < setting.rounds; ++round) {
    const double computed = time_of_step(together, alone);
    const double sent = time_of(together, [&] { shared.communicate(); });
    times.add(Kind::kReplicate, alone, computed, sent, time_of_step(together, shared));
  }
  return times.result();
}

void print(const char* name, const char* share, const Result& result) {
  std::printf("%-10s %9s %12.1f %16.1f %8.1f %6.2f %6.2f %7.2f\n", name, share, 1e3 * result.alone,
              1e3 * result.communication, 1e3 * result.step, result.ratio, result.bound, result.updates);
  std::fflush(stdout);
}

// Ranks whose own group of threads only keeps them together.
void run_gloo(const Setting& setting, const std::string& plugin) {
  std::barrier together(kRanks);
  const OwnedStore store = create_memory_store();
  run_ranks(kRanks, [&](Rank& rank) {
    rank.context->load_plugin(plugin.c_str());
    const OwnedGroup group = create_group("gloo", *rank.context,
                                          {.device = rank.device().device,
                                           .store = store.get(),
                                           .name = "link",
                                           .rank = rank.number(),
                                           .size = kRanks,
                                           .interface = "127.0.0.1"});
    const Result result = measure_link(together, setting, *group);
    if (rank.number() != 0) return;
    print("ddp, gloo", "", result);
    std::string operations(group->describe_operations(nullptr, 0) + 1, '\0');
    group->describe_operations(operations.data(), operations.size());
    std::printf("%s\n", operations.c_str());
  });
}

int run(int argc, char** argv) {
  CommandLine line(argc, argv,
                   "overlap_bench [--layers N] [--width N] [--batch N] [--rounds N] [--bucket KIB] [--first KIB] "
                   "[--sleep US] [--wait 1] [--gloo PATH]");
  const Setting setting = {.layers = line.number("--layers", 12, 1000),
                           .width = line.number("--width", 1024, 16384),
                           .batch = line.number("--batch", 64, 65536),
                           .rounds = line.number("--rounds", 7, kMostRounds),
                           .bucket_bytes = int64_t{1024} * line.number("--bucket", 0, 1 << 20),
                           .first_bytes = int64_t{1024} * line.number("--first", 0, 1 << 20),
                           .sleep = std::chrono::microseconds(line.number("--sleep", 0, 1000000)),
                           .waits = line.number("--wait", 0, 1) != 0};
  const std::string gloo = line.text("--gloo");
  line.finish();
  std::printf("%-10s %9s %12s %16s %8s %6s %6s %7s\n", "", "share", "compute ms", "communicate ms", "step ms", "ratio",
              "bound", "updates");
  if (!gloo.empty()) {
    run_gloo(setting, gloo);
    return 0;
  }
  std::barrier together(kRanks);
  run_ranks(kRanks, [&](Rank& rank) {
    for (const auto& [kind, name] : {std::pair{Kind::kReplicate, "ddp"},
                                     {Kind::kOptimizer, "optimizer"},
                                     {Kind::kGradients, "gradients"},
                                     {Kind::kFull, "full"}}) {
      for (const double share : kShares) {
        const Result result = measure(rank, together, setting, kind, share);
        if (rank.number() != 0) continue;
        char text[16];
        std::snprintf(text, sizeof text, "%.2f", share);
        print(name, text, result);
      }
    }
  });
  return 0;
}

}  // namespace
}  // namespace halftone::parallel

int main(int argc, char** argv) { return halftone::parallel::run(argc, argv); }
