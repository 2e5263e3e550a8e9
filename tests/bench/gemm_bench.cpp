// Times the CPU GEMM against oneDNN's, shape by shape:
//   gemm_bench [--threads N] [--rounds N] [--small]
// In every round each contender runs once, in turn, so that other load on the machine affects all of them alike. A
// contender's time is the best of its rounds: CPU time if there is one thread, else wall time. Rates are
// GFLOP/s; the last lines are geometric means of ratios.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/command_line.h"
#include "bench/onednn_gemm.h"
#include "bench/peak.h"
#include "bench/stopwatch.h"
#include "core/number/bfloat16.h"
#include "core/number/float16.h"
#include "cpu/device.h"
#include "cpu/gemm/dot.h"
#include "cpu/gemm/dot_choice.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

struct Options {
  int threads = 1;
  int rounds = 9;
  bool small = false;
};

// c [m, n] = a [m, k] b [k, n]; a transposed operand is stored transposed.
struct Product {
  int64_t m;
  int64_t n;
  int64_t k;
  bool transposes_a;
  bool transposes_b;
};

struct Contender {
  const char* name;
  DType in;
  DType out;
  bool is_onednn;
  cpu::DotUse dot_use;
};

constexpr cpu::DotUse kFma = cpu::DotUse::kNever;
constexpr cpu::DotUse kDot = cpu::DotUse::kAlways;
constexpr Contender kContenders[] = {
    {"f32", DType::kF32, DType::kF32, false, kFma},       {"dnnl-f32", DType::kF32, DType::kF32, true, kFma},
    {"f16-f32", DType::kF16, DType::kF32, false, kFma},   {"b-f fma", DType::kBF16, DType::kF32, false, kFma},
    {"b-f dot", DType::kBF16, DType::kF32, false, kDot},  {"dnnl-b-f", DType::kBF16, DType::kF32, true, kFma},
    {"b-b fma", DType::kBF16, DType::kBF16, false, kFma}, {"b-b dot", DType::kBF16, DType::kBF16, false, kDot},
    {"dnnl-b-b", DType::kBF16, DType::kBF16, true, kFma},
};
constexpr size_t kContenderCount = std::size(kContenders);

// A pair of contenders whose ratio of rates is averaged at the end.
struct Ratio {
  size_t ours;
  size_t theirs;
};
constexpr Ratio kRatios[] = {{0, 1}, {2, 0}, {3, 0}, {4, 0}, {6, 0}, {7, 0}, {3, 5}, {4, 5}, {6, 8}, {7, 8}};
// The contenders whose share of the peak of dot products is averaged.
constexpr size_t kDotContenders[] = {4, 5, 7, 8};

std::vector<Product> transformer_products() {
  std::vector<Product> products;
  const int64_t layers[][2] = {{256, 256}, {256, 1024}, {768, 768}, {768, 3072}, {3072, 768}};
  for (const int64_t tokens : {512, 4096}) {
    for (const auto& [in, out] : layers) {
      products.push_back({tokens, out, in, false, true});   // forward
      products.push_back({tokens, in, out, false, false});  // gradient of the input
      products.push_back({out, in, tokens, true, false});   // gradient of the weight
    }
  }
  return products;
}

std::vector<Product> small_products() {
  return {{16, 16, 16, false, false},   {64, 64, 64, false, false},    {64, 64, 64, false, true},
          {64, 64, 64, true, false},    {128, 128, 128, false, false}, {256, 256, 256, false, false},
          {128, 512, 784, false, true}, {128, 784, 512, false, false}, {512, 784, 128, true, false},
          {128, 10, 1024, false, true}, {128, 1024, 10, false, false}, {10, 1024, 128, true, false},
          {1, 1024, 1024, false, true}, {1, 1024, 1024, false, false}, {1024, 1, 1024, false, false}};
}

// Values around 1, so that no product or sum is subnormal. 64 extra bytes for alignment.
class Matrix {
 public:
  Matrix(DType dtype, int64_t rows, int64_t columns, bool transposed)
      : bytes_(static_cast<size_t>(rows * columns) * size_of(dtype) + 64) {
    void* data = bytes_.data();
    size_t space = bytes_.size();
    view_.data = std::align(64, 1, data, space);
    view_.dtype = dtype;
    view_.shape = {rows, columns};
    view_.strides = transposed ? Shape{1, rows} : Shape{columns, 1};
    for (int64_t i = 0; i < rows * columns; ++i) set(i, 0.75f + static_cast<float>(i * 7 % 64) / 64);
  }
  const View& view() const { return view_; }

 private:
  void set(int64_t i, float value) {
    if (view_.dtype == DType::kF32) static_cast<float*>(view_.data)[i] = value;
    if (view_.dtype == DType::kF16) static_cast<Float16*>(view_.data)[i] = Float16::from(value);
    if (view_.dtype == DType::kBF16) static_cast<BFloat16*>(view_.data)[i] = BFloat16::from(value);
  }

  std::vector<std::byte> bytes_;
  View view_;
};

// One contender for one product: its operands, and a function that runs it once.
class Entry {
 public:
  Entry(const Contender& contender, const Product& product, Stream& stream)
      : contender_(contender),
        stream_(stream),
        a_(contender.in, product.m, product.k, product.transposes_a),
        b_(contender.in, product.k, product.n, product.transposes_b),
        c_(contender.out, product.m, product.n, false) {
    args_.a = a_.view();
    args_.b = b_.view();
    args_.c = c_.view();
    if (contender.is_onednn) {
      onednn_ = std::make_unique<OnednnGemm>(args_);
    } else {
      cpu::set_dot_use_for_test(contender.dot_use);
      workspace_.resize(cpu::kGemmKernels.schedule(stream, args_).workspace + 64);
    }
  }

  double seconds(int repeats, TimeOf time_of) {
    if (!exists()) return HUGE_VAL;
    cpu::set_dot_use_for_test(contender_.dot_use);
    void* data = workspace_.data();
    size_t space = workspace_.size();
    void* aligned = onednn_ == nullptr ? std::align(64, 1, data, space) : nullptr;
    const Stopwatch watch(time_of);
    for (int i = 0; i < repeats; ++i) {
      if (onednn_ != nullptr) {
        onednn_->run();
      } else {
        cpu::kGemmKernels.run(stream_, args_, cpu::kGemmKernels.schedule(stream_, args_), aligned);
      }
    }
    return watch.seconds() / repeats;
  }

 private:
  bool exists() const {
    if (onednn_ != nullptr) return onednn_->exists();
    return contender_.dot_use != kDot || cpu::has_dot();
  }

  const Contender& contender_;
  Stream& stream_;
  Matrix a_;
  Matrix b_;
  Matrix c_;
  GemmArgs args_;
  std::unique_ptr<OnednnGemm> onednn_;
  std::vector<std::byte> workspace_;
};

using Rates = std::vector<double>;

Rates measure(const Product& product, const Options& options, Stream& stream) {
  const double flops =
      2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k);
  const int repeats = static_cast<int>(std::clamp(2e7 / flops, 1.0, 1000.0));
  std::vector<std::unique_ptr<Entry>> entries;
  for (const Contender& contender : kContenders) entries.push_back(std::make_unique<Entry>(contender, product, stream));
  const TimeOf time_of = options.threads == 1 ? TimeOf::kThread : TimeOf::kWall;
  Rates rates(kContenderCount, 0.0);
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < kContenderCount; ++i) {
      rates[i] = std::max(rates[i], flops / entries[i]->seconds(repeats, time_of) * 1e-9);
    }
  }
  return rates;
}

void print_line(const Product& product, const Rates& rates) {
  std::printf("%5ld %5ld %5ld %c%c", static_cast<long>(product.m), static_cast<long>(product.n),
              static_cast<long>(product.k), product.transposes_a ? 'T' : 'N', product.transposes_b ? 'T' : 'N');
  for (const double rate : rates) std::printf(" %9.1f", rate);
  const double flops =
      2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k);
  std::printf("  %9.2f us\n", flops / rates[0] * 1e-3);
  std::fflush(stdout);
}

// The geometric mean and the range of value(rates) over the products.
template <class F>
void print_mean(const std::vector<Rates>& table, F&& value) {
  double sum = 0;
  double lowest = HUGE_VAL;
  double highest = 0;
  for (const Rates& rates : table) {
    sum += std::log(value(rates));
    lowest = std::min(lowest, value(rates));
    highest = std::max(highest, value(rates));
  }
  std::printf("geometric mean %.3f, %.3f to %.3f\n", std::exp(sum / static_cast<double>(table.size())), lowest,
              highest);
}

// A contender that this CPU or oneDNN does not support is 0 in the table and left out here.
void print_ratios(const std::vector<Rates>& table) {
  for (const Ratio& ratio : kRatios) {
    if (table[0][ratio.ours] == 0 || table[0][ratio.theirs] == 0) continue;
    std::printf("%s / %s: ", kContenders[ratio.ours].name, kContenders[ratio.theirs].name);
    print_mean(table, [&](const Rates& rates) { return rates[ratio.ours] / rates[ratio.theirs]; });
  }
}

void print_shares_of_dot_peak(const std::vector<Rates>& table, double peak) {
  for (const size_t i : kDotContenders) {
    if (peak == 0 || table[0][i] == 0) continue;
    std::printf("%s / dot peak: ", kContenders[i].name);
    print_mean(table, [&](const Rates& rates) { return rates[i] / peak; });
  }
}

struct Peaks {
  double fma = fma_peak();
  double dot = dot_peak();

  void print() const { std::printf("peaks of one core: FMA %.1f GFLOP/s, dot products %.1f\n", fma, dot); }
};

void run(const Options& options) {
  ThreadPool pool(options.threads);
  cpu::CpuStream stream(pool);
  const Peaks before;
  before.print();
  std::printf("threads: %d; best of %d rounds\n    m     n     k   ", options.threads, options.rounds);
  for (const Contender& contender : kContenders) std::printf(" %9s", contender.name);
  std::printf("  time of %s\n", kContenders[0].name);
  std::vector<Rates> table;
  for (const Product& product : options.small ? small_products() : transformer_products()) {
    table.push_back(measure(product, options, stream));
    print_line(product, table.back());
  }
  const Peaks after;
  after.print();
  print_ratios(table);
  print_shares_of_dot_peak(table, options.threads * std::max(before.dot, after.dot));
}

Options parse(int argc, char** argv) {
  CommandLine line(argc, argv, "gemm_bench [--threads N] [--rounds N] [--small]");
  Options options;
  options.threads = line.number("--threads", options.threads, kMostThreads);
  options.rounds = line.number("--rounds", options.rounds, kMostRounds);
  options.small = line.flag("--small");
  line.finish();
  return options;
}

// oneDNN uses libgomp, which reads its number of threads when it is loaded, before main.
void restart_with_openmp_threads(int threads, char** argv) {
  const std::string wanted = std::to_string(threads);
  const char* now = std::getenv("OMP_NUM_THREADS");
  if (now != nullptr && wanted == now) return;
  setenv("OMP_NUM_THREADS", wanted.c_str(), 1);
  execv("/proc/self/exe", argv);
  std::perror("gemm_bench: cannot restart itself");
  std::exit(1);
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  const halftone::Options options = halftone::parse(argc, argv);
  halftone::restart_with_openmp_threads(options.threads, argv);
  halftone::run(options);
}
