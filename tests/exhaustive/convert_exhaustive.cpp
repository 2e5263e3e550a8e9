// Proves the conversions from FP32 to the small float formats: runs all 2^32 inputs, or a sample of N of them that are
// spread evenly and aimed at the ties, through the cast kernel of every instruction set at hand and compares every
// result with NearestCode. Prints one line for each format and set; the exit status is 1 if any result is wrong.
//   convert_exhaustive [--sample N]      N a power of two from 2^16 to 2^32
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/kernel_groups.h"
#include "hwy/targets.h"
#include "nearest_code.h"

namespace halftone {
namespace {

constexpr uint64_t kAllInputs = uint64_t{1} << 32;
constexpr uint64_t kBatch = 1 << 15;
constexpr int kThreads = 2;

// Sample i lies in [i * stride, (i + 1) * stride). Ties are multiples of any stride up to 4096: every fourth sample
// hits such a multiple or the pattern after it, every fourth the pattern before one, the others fall anywhere.
uint32_t sample(uint64_t i, uint64_t stride) {
  const uint64_t anywhere = i * 0x9E3779B97F4A7C15u >> 32;
  const uint64_t offsets[] = {(i >> 14) & 1, anywhere, anywhere >> 7, stride - 1};
  return static_cast<uint32_t>(i * stride + offsets[i % 4] % stride);
}

// One thread's buffers, and the comparison of one batch.
class Checker {
 public:
  explicit Checker(DType dtype) : dtype_(dtype), reference_(dtype), inputs_(kBatch), codes_(kBatch * size_of(dtype)) {}

  uint64_t count_wrong(uint64_t first, uint64_t stride) {
    for (uint64_t i = 0; i < kBatch; ++i) inputs_[i] = sample(first + i, stride);
    const Shape shape = {static_cast<int64_t>(kBatch)};
    const View in = {inputs_.data(), DType::kF32, shape, {1}};
    const View out = {codes_.data(), dtype_, shape, {1}};
    if (!cpu::kConvertKernels.cast(stream_, in, out).ok()) return kBatch;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < kBatch; ++i) wrong += code(i) != reference_.of_word(inputs_[i]) ? 1 : 0;
    return wrong;
  }

 private:
  uint32_t code(uint64_t i) const {
    if (size_of(dtype_) == 1) return codes_[i];
    uint16_t code;
    std::memcpy(&code, &codes_[2 * i], sizeof code);
    return code;
  }

  DType dtype_;
  NearestCode reference_;
  std::vector<uint32_t> inputs_;
  std::vector<uint8_t> codes_;
  ThreadPool pool_{1};
  cpu::CpuStream stream_{pool_};
};

uint64_t count_wrong(DType dtype, uint64_t inputs) {
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> wrong{0};
  const auto work = [&] {
    Checker checker(dtype);
    for (uint64_t first; (first = next.fetch_add(kBatch)) < inputs;) {
      wrong += checker.count_wrong(first, kAllInputs / inputs);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

bool check_instruction_set(int64_t target, uint64_t inputs) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().DeInit();
  bool all_right = true;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    const auto start = std::chrono::steady_clock::now();
    const uint64_t wrong = count_wrong(dtype, inputs);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("f32 -> %-6s %-6s %10llu inputs %10llu wrong  %6.1f s\n", name_of(dtype), hwy::TargetName(target),
                static_cast<unsigned long long>(inputs), static_cast<unsigned long long>(wrong), seconds.count());
    std::fflush(stdout);
    all_right = all_right && wrong == 0;
  }
  return all_right;
}

int run(uint64_t inputs) {
  bool all_right = true;
  for (const int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SCALAR}) {
    hwy::SetSupportedTargetsForTest(0);
    if (target != HWY_SCALAR && (hwy::SupportedTargets() & target) == 0) {
      std::printf("skipped: this CPU has no %s\n", hwy::TargetName(target));
      continue;
    }
    all_right = check_instruction_set(target, inputs) && all_right;
  }
  return all_right ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  uint64_t inputs = halftone::kAllInputs;
  if (argc == 3 && std::strcmp(argv[1], "--sample") == 0) {
    inputs = std::strtoull(argv[2], nullptr, 10);
  } else if (argc != 1) {
    inputs = 0;
  }
  if (!std::has_single_bit(inputs) || inputs < 1 << 16 || inputs > halftone::kAllInputs) {
    std::fprintf(stderr, "usage: convert_exhaustive [--sample N], N a power of two from 2^16 to 2^32\n");
    return 2;
  }
  return halftone::run(inputs);
}
