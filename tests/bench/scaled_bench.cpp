// Times quantization of a matrix in every layout against the cast of the same matrix from FP32 to BF16:
//   scaled_bench [--rounds N] [--stochastic]
// In every round each runs once, in turn. The time is the best of the rounds, in CPU time of one thread.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "core/number/bfloat16.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "ops/scaled/layout.h"

namespace halftone {
namespace {

using ops::ScaleLayout;

constexpr int64_t kSide = 2048;

struct Contest {
  std::string name;
  std::function<void(Stream&)> run;
  double seconds = HUGE_VAL;
};

struct Arena {
  Arena() : x(kSide * kSide), x16(x.size()), codes(x.size()), scales(x.size()), out(x.size()) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = normal(generator);
      x16[i] = BFloat16::from(x[i]);
    }
    scales[0] = 0.01f;
  }

  static View square(void* data, DType dtype, bool is_turned = false) {
    return {data, dtype, {kSide, kSide}, is_turned ? Shape{1, kSide} : Shape{kSide, 1}};
  }

  std::vector<float> x;
  std::vector<BFloat16> x16;
  std::vector<uint8_t> codes;
  std::vector<float> scales;
  std::vector<float> out;
  float tensor_scale = 0.001f;
};

struct Case {
  const char* name;
  ScaleLayout layout;
  NumberFormat format;
  ScaleRule rule;
};

constexpr Case kCases[] = {
    {"tensor E4M3", ScaleLayout::kTensor, NumberFormat::kE4M3, ScaleRule::kGiven},
    {"row E4M3", ScaleLayout::kRow, NumberFormat::kE4M3, ScaleRule::kDivided},
    {"1x128 E4M3", ScaleLayout::kBlock1x128, NumberFormat::kE4M3, ScaleRule::kPower},
    {"128x128 E4M3", ScaleLayout::kBlock128x128, NumberFormat::kE4M3, ScaleRule::kPower},
    {"MX E4M3", ScaleLayout::kMx1x32, NumberFormat::kE4M3, ScaleRule::kMxDown},
    {"MX E2M1", ScaleLayout::kMx1x32, NumberFormat::kE2M1, ScaleRule::kMxDown},
    {"NV 1x16 E2M1", ScaleLayout::kNv1x16, NumberFormat::kE2M1, ScaleRule::kNvfp4},
    {"NV 16x16 E2M1", ScaleLayout::kNv16x16, NumberFormat::kE2M1, ScaleRule::kNvfp4},
};

ScaledView scaled_of(Arena& arena, const Case& c) {
  const Shape matrix = {kSide, kSide};
  const ops::BlockSize block = ops::block_size(c.layout, matrix);
  const bool is_tensor = c.layout == ScaleLayout::kTensor;
  const Shape shape = is_tensor ? Shape{1, 1} : ops::scale_shape(c.layout, matrix);
  return {.codes = Arena::square(arena.codes.data(), ops::code_dtype(c.format)),
          .scales = {arena.scales.data(), ops::scale_dtype(c.layout), shape, contiguous_strides(shape)},
          .tensor_scale = ops::is_nv(c.layout) ? &arena.tensor_scale : nullptr,
          .format = c.format,
          .block_rows = block.rows,
          .block_columns = block.columns};
}

// Rows of FP32, columns of FP32, rows of BF16, and back to FP32.
void add_contests(Arena& arena, const Case& c, bool stochastic, std::vector<Contest>& all) {
  const ScaledView scaled = scaled_of(arena, c);
  const CodeRounding rounding = {.rule = c.rule, .is_stochastic = stochastic, .key = {.seed = 1, .sequence = 2}};
  for (const View& in : {Arena::square(arena.x.data(), DType::kF32), Arena::square(arena.x.data(), DType::kF32, true),
                         Arena::square(arena.x16.data(), DType::kBF16)}) {
    all.push_back({c.name, [=](Stream& s) { cpu::kScaledKernels.quantize_blocks(s, in, rounding, {}, scaled); }});
  }
  const View out = Arena::square(arena.out.data(), DType::kF32);
  all.push_back({c.name, [=](Stream& s) { cpu::kScaledKernels.dequantize_blocks(s, scaled, out); }});
}

void run(int rounds, bool stochastic) {
  Arena arena;
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  const View x = Arena::square(arena.x.data(), DType::kF32), x16 = Arena::square(arena.x16.data(), DType::kBF16);
  const View turned = Arena::square(arena.x.data(), DType::kF32, true),
             out = Arena::square(arena.out.data(), DType::kF32);
  std::vector<Contest> all = {
      {"cast to BF16", [=](Stream& s) { cpu::kConvertKernels.cast(s, x, x16); }},
      {"transposing copy", [=](Stream& s) { cpu::kConvertKernels.cast(s, turned, out); }},
  };
  for (const Case& c : kCases) add_contests(arena, c, stochastic, all);
  for (int round = 0; round < rounds; ++round) {
    for (Contest& contest : all) {
      const Stopwatch watch(TimeOf::kThread);
      contest.run(stream);
      contest.seconds = std::min(contest.seconds, watch.seconds());
    }
  }
  const double cast = all[0].seconds;
  std::printf("cast from FP32 to BF16: %.2f GB/s read; times of %lld^2 elements relative to it:\n",
              static_cast<double>(kSide * kSide) * 4e-9 / cast, static_cast<long long>(kSide));
  std::printf("%-14s %8s %8s %8s %8s\n", "", "rows", "columns", "BF16", "back");
  std::printf("%-14s %8s %8.2f\n", "FP32 copy", "", all[1].seconds / cast);
  for (size_t i = 2; i < all.size(); i += 4) {
    std::printf("%-14s %8.2f %8.2f %8.2f %8.2f\n", all[i].name.c_str(), all[i].seconds / cast,
                all[i + 1].seconds / cast, all[i + 2].seconds / cast, all[i + 3].seconds / cast);
  }
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  halftone::CommandLine line(argc, argv, "scaled_bench [--rounds N] [--stochastic]");
  const int rounds = line.number("--rounds", 15, halftone::kMostRounds);
  const bool stochastic = line.flag("--stochastic");
  line.finish();
  halftone::run(rounds, stochastic);
}
