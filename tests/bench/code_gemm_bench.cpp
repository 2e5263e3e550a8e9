// Times products of codes with scales of blocks on the CPU beside the products of the same sizes in FP32 and BF16:
//   code_gemm_bench [--threads N] [--rounds N]
// Each is a b^T, as in a linear layer's forward. In every round each contender runs once, in turn, so that other load
// on the machine affects all of them alike; a contender's time is the best of its rounds: CPU time if there is one
// thread, else wall time. The table gives times in ms, and the last line the geometric means of ratios to BF16.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "backend/kernels/gemm.h"
#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "core/number/bfloat16.h"
#include "cpu/device.h"
#include "cpu/gemm/code_matrix.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

struct Options {
  int threads = 1;
  int rounds = 9;
};

struct Product {
  int64_t m, n, k;
};
constexpr Product kProducts[] = {{512, 768, 768},   {512, 3072, 768},  {512, 768, 3072},
                                 {4096, 256, 1024}, {4096, 768, 3072}, {1024, 1024, 1024}};

constexpr int64_t kWholeDepth = int64_t{1} << 40;
// The first two are no codes.
constexpr CodeLayout kContenders[] = {
    {"bf16", DType::kBF16, ScaleFormat::kF32, 0, 0},
    {"f32", DType::kF32, ScaleFormat::kF32, 0, 0},
    {"tensor", DType::kF8E4M3, ScaleFormat::kF32, 0, 0},
    {"row", DType::kF8E4M3, ScaleFormat::kF32, 1, kWholeDepth},
    {"1x128", DType::kF8E4M3, ScaleFormat::kF32Power, 1, 128},
    {"128x128", DType::kF8E4M3, ScaleFormat::kF32Power, 128, 128},
    {"mxfp8", DType::kF8E4M3, ScaleFormat::kE8M0, 1, 32},
    {"mxfp4", DType::kU8, ScaleFormat::kE8M0, 1, 32},
    {"nvfp4", DType::kU8, ScaleFormat::kE4M3, 1, 16},
    {"nv16x16", DType::kU8, ScaleFormat::kE4M3, 16, 16},
};
constexpr size_t kCount = std::size(kContenders);
using Times = std::array<double, kCount>;

// The memory of a and b, which have the numbers of codes for BF16 and FP32 too.
class Operands {
 public:
  Operands(const CodeLayout& layout, const Product& p)
      : a_(codes_of(layout), p.m, p.k, CodeOrder::kDepth, 1), b_(codes_of(layout), p.n, p.k, CodeOrder::kDepth, 2) {
    if (layout.dtype == codes_of(layout).dtype) {
      args_ = {.a = a_.rows(), .b = b_.columns(), .c = {}};
      args_.a_blocks = a_.row_scales();
      args_.b_blocks = b_.column_scales();
    } else {
      args_ = {.a = widened(layout.dtype, a_, 0, {p.m, p.k}, {p.k, 1}),
               .b = widened(layout.dtype, b_, 1, {p.k, p.n}, {1, p.k}),
               .c = {}};
    }
    c_.resize(static_cast<size_t>(p.m * p.n));
    args_.c = {c_.data(), DType::kF32, {p.m, p.n}, {p.n, 1}};
  }
  const GemmArgs& args() const { return args_; }

 private:
  static CodeLayout codes_of(const CodeLayout& layout) {
    return size_of(layout.dtype) == 1 ? layout : CodeLayout{"", DType::kF8E4M3, ScaleFormat::kF32, 0, 0};
  }

  View widened(DType dtype, const CodeMatrix& codes, size_t i, const Shape& shape, const Shape& strides) {
    wide_[i] = codes.values();
    for (const float value : wide_[i]) short_[i].push_back(BFloat16::from(value));
    void* data = dtype == DType::kF32 ? static_cast<void*>(wide_[i].data()) : short_[i].data();
    return {data, dtype, shape, strides};
  }

  CodeMatrix a_, b_;
  std::array<std::vector<float>, 2> wide_;
  std::array<std::vector<BFloat16>, 2> short_;
  std::vector<float> c_;
  GemmArgs args_;
};

double seconds_of(const GemmArgs& args, Stream& stream, std::vector<std::byte>& memory, TimeOf time_of) {
  const GemmSchedule schedule = cpu::kGemmKernels.schedule(stream, args);
  memory.resize(schedule.workspace + 64);
  void* data = memory.data();
  size_t space = memory.size();
  std::align(64, schedule.workspace, data, space);
  const Stopwatch watch(time_of);
  cpu::kGemmKernels.run(stream, args, schedule, data);
  return watch.seconds();
}

Times measure(const Product& product, const Options& options, Stream& stream) {
  std::vector<std::unique_ptr<Operands>> operands;
  for (const CodeLayout& layout : kContenders) operands.push_back(std::make_unique<Operands>(layout, product));
  Times best;
  best.fill(HUGE_VAL);
  std::vector<std::byte> memory;
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < kCount; ++i) {
      const TimeOf time_of = options.threads == 1 ? TimeOf::kThread : TimeOf::kWall;
      best[i] = std::min(best[i], seconds_of(operands[i]->args(), stream, memory, time_of));
    }
  }
  return best;
}

void run(const Options& options) {
  ThreadPool pool(options.threads);
  cpu::CpuStream stream(pool);
  std::printf("threads: %d; best of %d rounds, ms\n    m     n     k", options.threads, options.rounds);
  for (const CodeLayout& layout : kContenders) std::printf(" %8s", layout.name);
  std::printf("\n");
  Times logarithms = {};
  for (const Product& product : kProducts) {
    const Times times = measure(product, options, stream);
    std::printf("%5ld %5ld %5ld", static_cast<long>(product.m), static_cast<long>(product.n),
                static_cast<long>(product.k));
    for (size_t i = 0; i < kCount; ++i) {
      std::printf(" %8.2f", times[i] * 1e3);
      logarithms[i] += std::log(times[i] / times[0]) / std::size(kProducts);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("mean ratio to bf16");
  for (const double logarithm : logarithms) std::printf(" %8.3f", std::exp(logarithm));
  std::printf("\n");
}

Options parse(int argc, char** argv) {
  CommandLine line(argc, argv, "code_gemm_bench [--threads N] [--rounds N]");
  Options options;
  options.threads = line.number("--threads", options.threads, kMostThreads);
  options.rounds = line.number("--rounds", options.rounds, kMostRounds);
  line.finish();
  return options;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) { halftone::run(halftone::parse(argc, argv)); }
