// Times steps of training through the C interface:
//   train_bench [--model mlp|cnn|gpt] [--precision fp32|bf16|fp16] [--threads N] [--rounds N] [--trace FILE]
// Times are CPU time if there is one thread, else wall time. A step is zero_grad, forward, loss, backward, update by
// AdamW, and with fp16 the loss scaler's part. The rate of the library's own matrix product in the step's precision is
// measured in the same run, in turn with the steps, so that other load on the machine meets both. Heap allocations are
// calls of operator new by the thread that trains. Peak bytes are the library's own counter; "resident" is the growth
// of the process's resident memory by the steps, as train_torch.py measures PyTorch's, and holds for the first model of
// a process alone. With --trace one more step goes into a file for trace viewers; that of the last model and precision
// stays.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "bench/train/trainer.h"
#include "failing_allocations.h"

namespace halftone::bench {
namespace {

using htone::call;
using htone::make;
using htone::Tensor;

struct Precision {
  const char* name;
  htone_dtype dtype;
};
constexpr Precision kPrecisions[] = {{"fp32", HTONE_F32}, {"bf16", HTONE_BF16}, {"fp16", HTONE_F16}};

struct Model {
  const char* name;
  TrainTask (*make)(const htone::Device& device);
};
constexpr Model kModels[] = {{"mlp", make_mlp}, {"cnn", make_cnn}, {"gpt", make_gpt}};

// The library's matrix product of 1024 x 1024 matrices.
class Product {
 public:
  Product(const htone::Device& device, htone_dtype dtype) : a_(matrix(device, dtype)), b_(matrix(device, dtype)) {}

  // The best of three, since the first finds the caches as the step has left them.
  double seconds(TimeOf time_of) const {
    double best = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Stopwatch watch(time_of);
      const Tensor c = htone::matmul(a_, b_);
      best = std::min(best, watch.seconds());
    }
    return best;
  }
  static constexpr double kFlops = 2.0 * 1024 * 1024 * 1024;

 private:
  static Tensor matrix(const htone::Device& device, htone_dtype dtype) {
    const int64_t shape[] = {1024, 1024};
    return make<Tensor>(htone_randn, device, dtype, 2, shape);
  }

  Tensor a_;
  Tensor b_;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

int64_t allocations_of(Trainer& trainer) {
  fail_allocation(-1, 0);
  trainer.step();
  const int64_t count = allocations_counted();
  ignore_allocations();
  return count;
}

double peak_mib(const htone::Device& device) {
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  call(htone_device_memory_stats, device, &stats);
  return static_cast<double>(stats.peak) / (1 << 20);
}

double resident_mib() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Settings {
  int threads;
  int rounds;
  std::string trace_file;  // empty: no trace
};

void trace_step(Trainer& trainer, const htone::Context& context, const std::string& file) {
  call(htone_trace_start, nullptr);
  trainer.step();
  call(htone_trace_stop, context, file.c_str());
}

void measure(const Model& model, const Precision& precision, const Settings& settings) {
  constexpr int kWarmUp = 3;
  const double resident_before = resident_mib();
  htone_context_options options = HTONE_CONTEXT_OPTIONS_INIT;
  options.num_threads = settings.threads;
  const auto context = make<htone::Context>(htone_context_create, &options);
  const auto device = make<htone::Device>(htone_device_create, context, "cpu");
  Trainer trainer(model.make(device), device, precision.dtype);
  for (int i = 0; i < kWarmUp; ++i) trainer.step();
  const double peak = peak_mib(device), resident = resident_mib() - resident_before;
  const Product product(device, precision.dtype);
  std::vector<double> steps;
  const TimeOf time_of = settings.threads == 1 ? TimeOf::kThread : TimeOf::kWall;
  double best_product = product.seconds(time_of);
  for (int round = 0; round < settings.rounds; ++round) {
    const Stopwatch watch(time_of);
    trainer.step();
    steps.push_back(watch.seconds());
    best_product = std::min(best_product, product.seconds(time_of));
  }
  const double best = *std::min_element(steps.begin(), steps.end());
  const double rate = trainer.task().flops / best, product_rate = Product::kFlops / best_product;
  std::printf("%-4s %-4s %9.2f %9.2f %11.0f %-6s %8.1f %8.1f %6.2f %9.1f %9.1f %7lld  %.4f\n", model.name,
              precision.name, best * 1e3, median(steps) * 1e3, static_cast<double>(trainer.task().items) / best,
              trainer.task().item, rate * 1e-9, product_rate * 1e-9, rate / product_rate, peak, resident,
              static_cast<long long>(allocations_of(trainer)), trainer.last_loss());
  std::fflush(stdout);
  if (!settings.trace_file.empty()) trace_step(trainer, context, settings.trace_file);
}

int run(int argc, char** argv) {
  CommandLine line(argc, argv,
                   "train_bench [--model mlp|cnn|gpt] [--precision fp32|bf16|fp16] [--threads N] [--rounds N] "
                   "[--trace FILE]");
  const Settings settings = {.threads = line.number("--threads", 2, kMostThreads),
                             .rounds = line.number("--rounds", 20, kMostRounds),
                             .trace_file = line.text("--trace")};
  const std::string model_name = line.text("--model"), precision_name = line.text("--precision");
  line.finish();
  std::printf("%-4s %-4s %9s %9s %11s %-6s %8s %8s %6s %9s %9s %7s  %s\n", "", "", "best ms", "median ms", "", "per s",
              "GFLOP/s", "product", "share", "peak MiB", "resident", "allocs", "loss");
  for (const Model& model : kModels) {
    if (!model_name.empty() && model_name != model.name) continue;
    for (const Precision& precision : kPrecisions) {
      if (precision_name.empty() || precision_name == precision.name) measure(model, precision, settings);
    }
  }
  return 0;
}

}  // namespace
}  // namespace halftone::bench

int main(int argc, char** argv) {
  setenv("HALFTONE_OBJECT_POOL", "1", 1);  // failing_allocations.cpp turns it off
  try {
    return halftone::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_bench: %s\n", error.what());
    return 1;
  }
}
