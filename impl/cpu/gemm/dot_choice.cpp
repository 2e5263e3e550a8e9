#include "cpu/gemm/dot_choice.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "backend/geometry/gemm_operands.h"
#include "cpu/gemm/dot.h"

namespace halftone::cpu {
namespace {

constexpr int kRounds = 8;
// 4096 instructions of each kind take 1 to 2 us.
constexpr int64_t kIterations = 256;
// CPUs do dot products at half or at twice their FMA rate (in multiply-adds); 1.25 is far from both.
constexpr double kClearlyFaster = 1.25;

std::atomic<DotUse> dot_use{DotUse::kWhereFaster};

double seconds_of(float (*chain)(int64_t, float)) {
  // volatile, so that the compiler cannot compute the chain itself.
  volatile float seed = 0.5f;
  const auto begin = std::chrono::steady_clock::now();
  seed = chain(kIterations, seed);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The two kinds alternate and the best round of each counts, because other load on the machine only adds time.
bool measure_dot_is_faster() {
  double fma = std::numeric_limits<double>::infinity();
  double dot = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    fma = std::min(fma, seconds_of(chain_fmas));
    dot = std::min(dot, seconds_of(chain_dots));
  }
  return 2 * fma > kClearlyFaster * dot;
}

bool dot_is_faster() {
  static const bool is_faster = has_dot() && measure_dot_is_faster();
  return is_faster;
}

}  // namespace

void set_dot_use_for_test(DotUse use) noexcept { dot_use.store(use, std::memory_order_relaxed); }

bool uses_dot() noexcept {
  const DotUse use = dot_use.load(std::memory_order_relaxed);
  return use == DotUse::kWhereFaster ? dot_is_faster() : use == DotUse::kAlways;
}

bool multiplies_by_dot(const GemmArgs& args) noexcept { return fits_bf16(args) && uses_dot(); }

}  // namespace halftone::cpu
