#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/peak.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include <algorithm>
#include <cstdint>

#include "bench/peak.h"
#include "bench/stopwatch.h"
#include "cpu/gemm/dot.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve independent sums hide the latency of two units with four cycles each, and fit into the registers of every
// instruction set.
constexpr int kSums = 12;

double flops(int64_t iterations, float seed, float* sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, seed);
  hn::Vec<decltype(d)> sums[kSums];
#pragma GCC unroll 12
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sums[i] = hn::MulAdd(sums[i], factor, factor);
  }
  auto total = sums[0];
  for (int i = 1; i < kSums; ++i) total = hn::Add(total, sums[i]);
  *sink = hn::GetLane(total);
  return 2.0 * static_cast<double>(iterations) * kSums * static_cast<double>(hn::Lanes(d));
}

}  // namespace halftone::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace halftone {
namespace {

HWY_EXPORT(flops);

// The best of five runs of `flops`(seed, sink), which returns the number of operations that it computed.
template <class Flops>
double best_rate(Flops&& flops) {
  volatile float seed = 0.5f;
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    float sink = 0;
    const Stopwatch watch(TimeOf::kThread);
    const double count = flops(seed, &sink);
    best = std::max(best, count / watch.seconds() * 1e-9);
    seed = sink > 1e30f ? 0.25f : 0.5f;
  }
  return best;
}

}  // namespace

double fma_peak() {
  return best_rate([](float seed, float* sink) { return HWY_DYNAMIC_DISPATCH(flops)(2'000'000, seed, sink); });
}

double dot_peak() {
  if (!cpu::has_dot()) return 0;
  return best_rate([](float seed, float* sink) {
    constexpr int64_t kIterations = 2'000'000;
    *sink = cpu::chain_dots(kIterations, seed);
    return 2.0 * kIterations * cpu::kChains * cpu::kDotLanes * cpu::kDotElements;
  });
}

}  // namespace halftone

#endif  // HWY_ONCE
