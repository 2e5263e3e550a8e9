// Times all_reduce of FP32 between processes of this machine, over shared memory and with Gloo's own ring over TCP:
//   comm_bench [--ranks N] [--rounds N] [--only-shared]
// In every round each contender runs once, in turn, after a barrier, so that other load on the machine affects both
// alike. Times are those of rank 0; ratios are those of the best rounds, and of the medians.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/command_line.h"
#include "bench/gloo_ring.h"
#include "bench/stopwatch.h"
#include "comm/group/group.h"
#include "comm/group/registry.h"

namespace halftone {
namespace {

struct Options {
  int ranks = 2;
  int rounds = 21;
  bool only_shared = false;
};

struct Size {
  const char* name;
  int64_t elements;
  int repeats;  // in one round
};
constexpr Size kSizes[] = {{"64 MiB", 16 << 20, 1}, {"256 KiB", 64 << 10, 20}, {"4 KiB", 1 << 10, 100}};

struct Contender {
  const char* name;
  std::function<void(float* values, int64_t count)> sum;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

double best(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

void print(const Size& size, const std::vector<Contender>& contenders,
           const std::vector<std::vector<double>>& seconds) {
  std::printf("%s\n", size.name);
  for (size_t i = 0; i < contenders.size(); ++i) {
    std::printf("  %-14s best %9.3f ms, median %9.3f ms, %.2f and %.2f times as fast as the first\n",
                contenders[i].name, best(seconds[i]) * 1e3, median(seconds[i]) * 1e3,
                best(seconds[0]) / best(seconds[i]), median(seconds[0]) / median(seconds[i]));
  }
  std::fflush(stdout);
}

class Rank {
 public:
  Rank(const Options& options, int number, const std::string& folder)
      : options_(options), number_(number), context_(make_context()) {
    const std::string address = folder + "/store";
    store_ = create_store("file", *context_, {.address = address.c_str()});
    group_ = create_group(
        "shared_memory", *context_,
        {.device = context_->device("cpu").device, .store = store_.get(), .rank = number, .size = options.ranks});
    if (!options.only_shared) {
      gloo_ = std::make_unique<GlooRing>(number, options.ranks, folder + "/gloo");
      contenders_.push_back({"gloo", [this](float* values, int64_t count) { gloo_->sum(values, count); }});
    }
    contenders_.push_back({"shared_memory", [this](float* values, int64_t count) { sum(values, count); }});
  }

  void measure(const Size& size) {
    std::vector<float> values(static_cast<size_t>(size.elements));
    std::vector<std::vector<double>> seconds(contenders_.size());
    for (int round = 0; round <= options_.rounds; ++round) {
      for (size_t i = 0; i < contenders_.size(); ++i) {
        std::fill(values.begin(), values.end(), 0.0f);
        const double time = measure_once(contenders_[i], size, values.data());
        if (round > 0) seconds[i].push_back(time);  // the first round warms up
      }
    }
    if (number_ == 0) print(size, contenders_, seconds);
  }

 private:
  static Ref<Context> make_context() {
    ContextOptions options;
    options.num_threads = 1;
    return make_ref<Context>(options);
  }

  double measure_once(const Contender& contender, const Size& size, float* values) {
    run_and_wait([&](Work** work) { return group_->barrier({}, work); });
    const Stopwatch watch(TimeOf::kWall);
    for (int i = 0; i < size.repeats; ++i) contender.sum(values, size.elements);
    return watch.seconds() / size.repeats;
  }

  void sum(float* values, int64_t count) {
    const View view{.data = values, .dtype = DType::kF32, .shape = {count}, .strides = {1}};
    run_and_wait([&](Work** work) { return group_->all_reduce({}, ReduceOp::kSum, view, view, work); });
  }

  const Options options_;
  const int number_;
  const Ref<Context> context_;
  OwnedStore store_;
  OwnedGroup group_;
  std::unique_ptr<GlooRing> gloo_;
  std::vector<Contender> contenders_;
};

Options parse(int argc, char** argv) {
  CommandLine line(argc, argv, "comm_bench [--ranks N] [--rounds N] [--only-shared]");
  Options options;
  options.ranks = line.number("--ranks", options.ranks, 64);
  options.rounds = line.number("--rounds", options.rounds, kMostRounds);
  options.only_shared = line.flag("--only-shared");
  line.finish();
  return options;
}

int run_rank(const Options& options, int number, const std::string& folder) {
  try {
    Rank rank(options, number, folder);
    for (const Size& size : kSizes) rank.measure(size);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "comm_bench: rank %d: %s\n", number, error.what());
    return 1;
  }
}

int run(const Options& options) {
  std::string folder = std::filesystem::temp_directory_path() / "comm_bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr || mkdir((folder + "/gloo").c_str(), 0700) != 0) return 1;
  for (int number = 0; number < options.ranks; ++number) {
    if (fork() == 0) _exit(run_rank(options, number, folder));
  }
  int result = 0;
  for (int status = 0; wait(&status) > 0;) result |= status != 0;
  std::filesystem::remove_all(folder);
  return result;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // Gloo writes to sockets that a lost rank has closed
  return halftone::run(halftone::parse(argc, argv));
}
