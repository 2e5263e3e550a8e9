// Steps of two ranks whose messages take as long as a link of some rate needs, beside computation and communication
// alone: how much of the communication runs while a rank computes.
//   overlap_bench [--layers N] [--width N] [--batch N] [--rounds N]
// The ranks are threads with one thread of computation each, and train linear layers with AdamW. For each kind of
// sharing the link's rate is chosen so that a step's messages take a quarter, a half, all and twice of the time of a
// step without messages. In every round each contender takes one step, in turn. Ratios are the medians of the ratios
// within the rounds, of a step to the longer of computation and communication. "bound" is the same ratio of a step of
// ddp whose messages all run while backward computes: they can neither begin before it nor end after the update begins.
#include <algorithm>
#include <barrier>
#include <cstdio>
#include <optional>
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
#include "parallel/replicate.h"
#include "parallel/sharded.h"
#include "parallel/slow_group.h"
#include "tensor/factory.h"

namespace halftone::parallel {
namespace {

constexpr int kRanks = 2;
constexpr double kShares[] = {0.25, 0.5, 1.0, 2.0};

struct Setting {
  int layers, width, batch, rounds;
};

enum class Kind { kAlone, kReplicate, kGradients, kFull };

class Contender {
 public:
  // Without a group for kAlone.
  Contender(const Setting& setting, Kind kind, ProcessGroup* group)
      : context_(make_rank_context()),
        device_(context_->device("cpu")),
        input_(full(device_, DType::kF32, {setting.batch, setting.width}, 0.01)) {
    std::vector<Ref<nn::Module>> layers;
    for (int i = 0; i < setting.layers; ++i) {
      layers.push_back(make_ref<nn::Linear>(device_, setting.width, setting.width, true, DType::kF32));
      layers.push_back(make_ref<nn::Relu>());
    }
    model_ = make_ref<nn::Sequential>(std::move(layers));
    if (kind == Kind::kReplicate) {
      ReplicateOptions options;
      options.bucket_sizes = {.first = int64_t{1} << 20, .others = int64_t{4} << 20};
      replica_ = make_ref<Replicate>(*group, model_, options);
    } else if (kind != Kind::kAlone) {
      ShardedOptions options;
      options.sharding = kind == Kind::kFull ? Sharding::kFull : Sharding::kGradients;
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
  }
  // The seconds of the last step's backward.
  double backward() const { return backward_; }

 private:
  const Ref<Context> context_;
  ContextDevice& device_;
  const Tensor input_;
  Ref<nn::Module> model_;
  Ref<Replicate> replica_;
  Ref<Sharded> sharded_;
  Ref<optim::Optimizer> optimizer_;
  double backward_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Both ranks take part in each call; rank 0 measures.
double time_of_step(std::barrier<>& together, Contender& contender) {
  together.arrive_and_wait();
  const Stopwatch watch(TimeOf::kWall);
  contender.step();
  together.arrive_and_wait();
  return watch.seconds();
}

struct Result {
  double alone, communication, step, ratio, bound;
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
    const double before = fast.slept();
    probe.step();
    bytes = (fast.slept() - before) * 1e15;
  }
  static double chosen = 0;
  if (rank.number() == 0) chosen = bytes / (share * *std::min_element(computation.begin() + 1, computation.end()));
  together.arrive_and_wait();
  SlowGroup slow(*rank.group, chosen);
  Contender shared(setting, kind, &slow);
  shared.step();
  shared.step();
  std::vector<double> alone_times, sent_times, step_times, ratios, bounds;
  for (int round = 0; round < setting.rounds; ++round) {
    alone_times.push_back(time_of_step(together, alone));
    const double before = slow.slept();
    step_times.push_back(time_of_step(together, shared));
    sent_times.push_back(slow.slept() - before);
    const double longer = std::max(alone_times.back(), sent_times.back());
    ratios.push_back(step_times.back() / longer);
    const double hidden = std::max(alone.backward(), sent_times.back());
    bounds.push_back((alone_times.back() - alone.backward() + hidden) / longer);
  }
  return {median(alone_times), median(sent_times), median(step_times), median(ratios), median(bounds)};
}

int run(int argc, char** argv) {
  CommandLine line(argc, argv, "overlap_bench [--layers N] [--width N] [--batch N] [--rounds N]");
  const Setting setting = {.layers = line.number("--layers", 12, 1000),
                           .width = line.number("--width", 1024, 16384),
                           .batch = line.number("--batch", 64, 65536),
                           .rounds = line.number("--rounds", 7, kMostRounds)};
  line.finish();
  std::barrier together(kRanks);
  std::printf("%-10s %9s %12s %16s %8s %6s %6s\n", "", "share", "compute ms", "communicate ms", "step ms", "ratio",
              "bound");
  run_ranks(kRanks, [&](Rank& rank) {
    for (const auto& [kind, name] :
         {std::pair{Kind::kReplicate, "ddp"}, {Kind::kGradients, "gradients"}, {Kind::kFull, "full"}}) {
      for (const double share : kShares) {
        const Result result = measure(rank, together, setting, kind, share);
        if (rank.number() != 0) continue;
        std::printf("%-10s %9.2f %12.1f %16.1f %8.1f %6.2f %6.2f\n", name, share, 1e3 * result.alone,
                    1e3 * result.communication, 1e3 * result.step, result.ratio, result.bound);
        std::fflush(stdout);
      }
    }
  });
  return 0;
}

}  // namespace
}  // namespace halftone::parallel

int main(int argc, char** argv) { return halftone::parallel::run(argc, argv); }
