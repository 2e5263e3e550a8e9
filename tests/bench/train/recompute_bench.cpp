// Recomputation: its time and memory in steps of one GPT at context 1024 (or --context), batch 2. Computed again in
// backward are: nothing, the attention, the feed-forward parts, every second block, or every block.
//   recompute_bench [--precision fp32|bf16|fp16] [--context N] [--threads N] [--rounds N]
// In every round each contender takes one step, in turn, so that other load on the machine meets all of them alike. The
// ratio of times is the median of the ratios within the rounds; a time is CPU time if there is one thread, else wall
// time. "kept" is the memory of activations between forward and backward, "peak" the most memory of a step beyond
// weights, gradients and moments. The losses must be the same digits. A second table has the attention of one layer by
// itself, and beside it the plain form, which keeps the matrix of weights: "kept" is what its operations keep for
// backward, without its input and its output; the time is that of forward and backward.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "bench/train/attention_forms.h"
#include "bench/train/measures.h"
#include "bench/train/trainer.h"

namespace halftone::bench {
namespace {

using htone::call;
using htone::make;

struct Rule {
  const char* name;
  const char* kind;
  int64_t every;
};
constexpr Rule kRules[] = {{"none", nullptr, 1},
                           {"attention", "multihead_attention", 1},
                           {"feed-forward", "feed_forward", 1},
                           {"every 2nd block", "transformer_block", 2},
                           {"every block", "transformer_block", 1}};

// The attention of one layer in one form.
class AttentionContender {
 public:
  AttentionContender(const char* name, AttentionForm::Kind kind, htone_dtype precision, int64_t context, int threads)
      : name_(name),
        device_(device_with(threads)),
        form_(kind, {.batch = 2, .context = context, .width = 384, .heads = 6}, precision, device_) {
    form_.forward_and_backward();
    const int64_t before = stats_of(device_).current;
    const htone::Tensor output = form_.forward();
    size_t element = 0;
    call(htone_dtype_size, precision, &element);
    const auto own = static_cast<int64_t>(element) * 2 * context * 384;
    kept_ = static_cast<double>(stats_of(device_).current - before - own) / (1 << 20);
  }

  void step(TimeOf time) {
    const Stopwatch watch(time);
    form_.forward_and_backward();
    seconds_.push_back(watch.seconds());
  }

  void print(const AttentionContender& first) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < seconds_.size(); ++i) ratios.push_back(seconds_[i] / first.seconds_[i]);
    std::printf("%-16s %9.1f %6.3f %9.2f %6.3f\n", name_, median(seconds_) * 1e3, median(ratios), kept_,
                kept_ / first.kept_);
  }

 private:
  const char* name_;
  htone::Device device_;
  AttentionForm form_;
  std::vector<double> seconds_;
  double kept_ = 0;
};

// One model with its own context, so that its memory is counted apart.
class Contender {
 public:
  Contender(const Rule& rule, htone_dtype precision, int64_t context, int threads)
      : rule_(rule), device_(device_with(threads)), trainer_(make_gpt_of(device_, context, 2), device_, precision) {
    size_t count = 0;
    if (rule.kind != nullptr) {
      call(htone_module_set_recompute_matching, trainer_.task().module, nullptr, rule.kind, rule.every, &count);
    }
    trainer_.step();
    measure_memory();
  }

  void step(TimeOf time) {
    const Stopwatch watch(time);
    trainer_.step();
    seconds_.push_back(watch.seconds());
  }

  void print(const Contender& first) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < seconds_.size(); ++i) ratios.push_back(seconds_[i] / first.seconds_[i]);
    std::printf("%-16s %9.1f %6.3f %9.1f %6.3f %9.1f %6.3f  %.6f\n", rule_.name, median(seconds_) * 1e3, median(ratios),
                kept_, kept_ / first.kept_, peak_, peak_ / first.peak_, trainer_.last_loss());
  }

 private:
  void measure_memory() {
    constexpr double kMib = 1 << 20;
    const htone_memory_stats before = stats_of(device_);
    {
      const Trainer::Losses losses = trainer_.forward();
      kept_ = static_cast<double>(stats_of(device_).by_category[HTONE_MEMORY_ACTIVATIONS] -
                                  before.by_category[HTONE_MEMORY_ACTIVATIONS]) /
              kMib;
    }
    call(htone_device_reset_peak_memory, device_);
    trainer_.step();
    peak_ = static_cast<double>(stats_of(device_).peak - before.current) / kMib;
  }

  const Rule& rule_;
  htone::Device device_;
  Trainer trainer_;
  std::vector<double> seconds_;  // of the steps, by round
  double kept_ = 0;
  double peak_ = 0;
};

htone_dtype precision_named(const std::string& name) {
  if (name == "fp32") return HTONE_F32;
  return name == "fp16" ? HTONE_F16 : HTONE_BF16;
}

void compare_attention(htone_dtype precision, int64_t context, int threads, int rounds) {
  std::vector<std::unique_ptr<AttentionContender>> contenders;
  const auto add = [&](const char* name, AttentionForm::Kind kind) {
    contenders.push_back(std::make_unique<AttentionContender>(name, kind, precision, context, threads));
  };
  add("plain", AttentionForm::Kind::kPlain);
  add("fused", AttentionForm::Kind::kFused);
  add("recomputed", AttentionForm::Kind::kRecomputed);
  for (int round = 0; round < rounds; ++round) {
    for (const auto& contender : contenders) contender->step(threads == 1 ? TimeOf::kThread : TimeOf::kWall);
  }
  std::printf("\n%-16s %9s %6s %9s %6s\n", "attention alone", "ms", "ratio", "kept MiB", "ratio");
  for (const auto& contender : contenders) contender->print(*contenders[0]);
}

int run(int argc, char** argv) {
  CommandLine line(argc, argv, "recompute_bench [--precision fp32|bf16|fp16] [--context N] [--threads N] [--rounds N]");
  const int threads = line.number("--threads", 2, kMostThreads);
  const int rounds = line.number("--rounds", 5, kMostRounds);
  const int context = line.number("--context", 1024, 8192);
  const htone_dtype precision = precision_named(line.text("--precision"));
  line.finish();
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const Rule& rule : kRules) {
    contenders.push_back(std::make_unique<Contender>(rule, precision, context, threads));
  }
  for (int round = 0; round < rounds; ++round) {
    for (const auto& contender : contenders) contender->step(threads == 1 ? TimeOf::kThread : TimeOf::kWall);
  }
  std::printf("%-16s %9s %6s %9s %6s %9s %6s  %s\n", "recomputed", "step ms", "ratio", "kept MiB", "ratio", "peak MiB",
              "ratio", "loss");
  for (const auto& contender : contenders) contender->print(*contenders[0]);
  contenders.clear();
  compare_attention(precision, context, threads, rounds);
  return 0;
}

}  // namespace
}  // namespace halftone::bench

int main(int argc, char** argv) {
  try {
    return halftone::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "recompute_bench: %s\n", error.what());
    return 1;
  }
}
