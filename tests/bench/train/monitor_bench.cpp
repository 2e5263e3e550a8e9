// The cost of statistics of a model: steps of training without them, and steps that are watched, in BF16:
//   monitor_bench [--model mlp|gpt] [--threads N] [--rounds N]
// In every round each contender takes one step, in turn, so that other load on the machine meets all of them alike.
// Prints the median time of a step, the median of its ratios to the plain step of the same round, and the quartiles of
// these ratios; then the cost of sampling one step of 100, which follows from the ratios of a watched step that is not
// sampled and of one that is. A time is CPU time if there is one thread, else wall time.
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

// interval 0: no record. A contender of an interval beyond all rounds takes steps that are not sampled.
struct Kind {
  const char* name;
  int64_t interval;
  int32_t noise;
};
enum { kPlain, kRecorded, kNotSampled, kSampled, kNoise };
constexpr Kind kKinds[] = {{"plain", 0, 0},
                           {"recorded", -1, 0},
                           {"watched, not sampled", kMostRounds + 2, 0},
                           {"sampled", 1, 0},
                           {"sampled, with noise", 1, 1}};

double quantile(std::vector<double> values, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<size_t>(place)];
}

class Contender {
 public:
  Contender(const Kind& kind, bool is_gpt, int threads)
      : kind_(kind),
        device_(device_with(threads)),
        trainer_(is_gpt ? make_gpt(device_) : make_mlp(device_), device_, HTONE_BF16) {
    if (kind.interval != 0) htone::call(htone_statistics_create, device_, nullptr, &statistics_);
    if (kind.interval > 0) watch();
    step(TimeOf::kWall);  // the first step allocates, and is a sampled one
    seconds_.clear();
  }
  ~Contender() { htone_statistics_release(statistics_); }
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  void step(TimeOf time) {
    const Stopwatch watch(time);
    if (statistics_ != nullptr) htone::call(htone_statistics_begin_step, statistics_);
    trainer_.step();
    if (statistics_ != nullptr) {
      htone::call(htone_statistics_end_step, statistics_, trainer_.last_loss(), trainer_.task().items);
    }
    seconds_.push_back(watch.seconds());
  }

  std::vector<double> ratios(const Contender& first) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < seconds_.size(); ++i) ratios.push_back(seconds_[i] / first.seconds_[i]);
    return ratios;
  }
  void print(const Contender& first) const {
    const std::vector<double> all = ratios(first);
    std::printf("%-22s %9.2f %7.4f  %7.4f to %7.4f  %.5f\n", kind_.name, median(seconds_) * 1e3, median(all),
                quantile(all, 0.25), quantile(all, 0.75), trainer_.last_loss());
  }

 private:
  void watch() {
    htone_monitor_options options = HTONE_MONITOR_OPTIONS_INIT;
    options.interval = kind_.interval;
    options.noise = kind_.noise;
    htone::call(htone_statistics_watch, statistics_, trainer_.task().module, trainer_.optimizer(), &options);
  }

  const Kind& kind_;
  htone::Device device_;
  Trainer trainer_;
  htone_statistics* statistics_ = nullptr;
  std::vector<double> seconds_;  // of the steps, by round
};

int run(int argc, char** argv) {
  CommandLine line(argc, argv, "monitor_bench [--model mlp|gpt] [--threads N] [--rounds N]");
  const int threads = line.number("--threads", 1, kMostThreads);
  const int rounds = line.number("--rounds", 31, kMostRounds);
  const bool is_gpt = line.text("--model") != "mlp";
  line.finish();
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const Kind& kind : kKinds) contenders.push_back(std::make_unique<Contender>(kind, is_gpt, threads));
  for (int round = 0; round < rounds; ++round) {
    for (const auto& contender : contenders) contender->step(threads == 1 ? TimeOf::kThread : TimeOf::kWall);
  }
  std::printf("%-22s %9s %7s  %7s    %7s  %s\n", "step", "ms", "ratio", "25 %", "75 %", "loss");
  for (const auto& contender : contenders) contender->print(*contenders[kPlain]);
  const auto ratio = [&](int kind) {
    return median(contenders[static_cast<size_t>(kind)]->ratios(*contenders[kPlain]));
  };
  const double sampled = ratio(kSampled) - 1;
  std::printf("one sampled step of 100: %.2f %% of a step, %.2f %% of it for the sample\n",
              (0.99 * (ratio(kNotSampled) - 1) + 0.01 * sampled) * 100, 0.01 * sampled * 100);
  return 0;
}

}  // namespace
}  // namespace halftone::bench

int main(int argc, char** argv) {
  try {
    return halftone::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "monitor_bench: %s\n", error.what());
    return 1;
  }
}
