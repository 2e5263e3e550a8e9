// Compares steps of training by the low-precision recipes with steps in BF16:
//   recipe_bench [--model mlp|gpt] [--threads N] [--rounds N]
// In every round each contender makes one step, in turn. Prints the median time of a step and the median of its ratios
// to BF16's step of the same round; the activations that backward keeps; and the loss after the last round.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "bench/train/measures.h"
#include "bench/train/trainer.h"

namespace halftone::bench {
namespace {

struct Kind {
  const char* name;
  htone_recipe_kind recipe;  // 0: none
};
constexpr Kind kKinds[] = {{"bf16", static_cast<htone_recipe_kind>(0)},
                           {"fp8-current", HTONE_RECIPE_CURRENT},
                           {"fp8-delayed", HTONE_RECIPE_DELAYED},
                           {"fp8-block", HTONE_RECIPE_BLOCK},
                           {"mxfp8", HTONE_RECIPE_MXFP8},
                           {"nvfp4", HTONE_RECIPE_NVFP4}};

class Contender {
 public:
  Contender(const Kind& kind, bool is_gpt, int threads)
      : kind_(kind),
        device_(device_with(threads)),
        trainer_(is_gpt ? make_gpt(device_) : make_mlp(device_), device_, HTONE_BF16) {
    if (kind.recipe != 0) trainer_.set_recipe(kind.recipe);
    trainer_.step();
    const int64_t before = activations();
    const Trainer::Losses losses = trainer_.forward();
    kept_ = static_cast<double>(activations() - before) / (1 << 20);
  }

  void step(TimeOf time) {
    const Stopwatch watch(time);
    trainer_.step();
    seconds_.push_back(watch.seconds());
  }

  void print(const Contender& first) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < seconds_.size(); ++i) ratios.push_back(seconds_[i] / first.seconds_[i]);
    std::printf("%-12s %9.1f %6.3f %9.2f %6.3f  %.5f\n", kind_.name, median(seconds_) * 1e3, median(ratios), kept_,
                kept_ / first.kept_, trainer_.last_loss());
  }

 private:
  int64_t activations() { return stats_of(device_).by_category[HTONE_MEMORY_ACTIVATIONS]; }

  const Kind& kind_;
  htone::Device device_;
  Trainer trainer_;
  std::vector<double> seconds_;  // of the steps, by round
  double kept_ = 0;
};

int run(int argc, char** argv) {
  CommandLine line(argc, argv, "recipe_bench [--model mlp|gpt] [--threads N] [--rounds N]");
  const int threads = line.number("--threads", 2, kMostThreads);
  const int rounds = line.number("--rounds", 9, kMostRounds);
  const bool is_gpt = line.text("--model") != "mlp";
  line.finish();
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const Kind& kind : kKinds) contenders.push_back(std::make_unique<Contender>(kind, is_gpt, threads));
  for (int round = 0; round < rounds; ++round) {
    for (const auto& contender : contenders) contender->step(threads == 1 ? TimeOf::kThread : TimeOf::kWall);
  }
  std::printf("%-12s %9s %6s %9s %6s  %s\n", "recipe", "step ms", "ratio", "kept MiB", "ratio", "loss");
  for (const auto& contender : contenders) contender->print(*contenders[0]);
  return 0;
}

}  // namespace
}  // namespace halftone::bench

int main(int argc, char** argv) {
  try {
    return halftone::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "recipe_bench: %s\n", error.what());
    return 1;
  }
}
