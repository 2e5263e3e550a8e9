// Runs a check over all 2^32 FP32 patterns, or a sample of them, on two threads and on every available instruction set.
// Used by the exhaustive programs, only from main.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "hwy/targets.h"

namespace halftone {

constexpr uint64_t kAllInputs = uint64_t{1} << 32;
constexpr uint64_t kBatch = 1 << 15;
constexpr int kThreads = 2;

// Sample i is in [i * stride, (i + 1) * stride). Ties are multiples of any stride up to 4096: every fourth sample is
// such a multiple or the pattern after it, every fourth is the pattern before one, the others are anywhere.
inline uint32_t sample(uint64_t i, uint64_t stride) {
  const uint64_t anywhere = i * 0x9E3779B97F4A7C15u >> 32;
  const uint64_t offsets[] = {(i >> 14) & 1, anywhere, anywhere >> 7, stride - 1};
  return static_cast<uint32_t>(i * stride + offsets[i % 4] % stride);
}

// Makes one Checker per thread with make(); each counts wrong results in batches of words.
template <class Make>
uint64_t count_wrong(uint64_t inputs, Make&& make) {
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> wrong{0};
  const auto work = [&] {
    auto checker = make();
    std::vector<uint32_t> words(kBatch);
    for (uint64_t first; (first = next.fetch_add(kBatch)) < inputs;) {
      for (uint64_t i = 0; i < kBatch; ++i) words[i] = sample(first + i, kAllInputs / inputs);
      wrong += checker.count_wrong(words);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

// Counts and prints one line; returns true if nothing was wrong.
template <class Make>
bool check_walk(const char* what, int64_t target, uint64_t inputs, Make&& make) {
  const auto start = std::chrono::steady_clock::now();
  const uint64_t wrong = count_wrong(inputs, make);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%-15s %-6s %10llu inputs %10llu wrong  %6.1f s\n", what, hwy::TargetName(target),
              static_cast<unsigned long long>(inputs), static_cast<unsigned long long>(wrong), seconds.count());
  std::fflush(stdout);
  return wrong == 0;
}

// Calls check(target) for every instruction set, which the kernels then use; returns true if all were correct.
template <class Check>
bool on_every_instruction_set(Check&& check) {
  bool all_right = true;
  for (const int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SCALAR}) {
    hwy::SetSupportedTargetsForTest(0);
    if (target != HWY_SCALAR && (hwy::SupportedTargets() & target) == 0) {
      std::printf("skipped: this CPU has no %s\n", hwy::TargetName(target));
      continue;
    }
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    all_right = check(target) && all_right;
  }
  return all_right;
}

// The number of inputs that [--sample N] requests, N a power of two from 2^16 to 2^32; all inputs by default. Ends the
// program if the arguments are invalid.
inline uint64_t inputs_of(int argc, char** argv) {
  uint64_t inputs = kAllInputs;
  if (argc == 3 && std::strcmp(argv[1], "--sample") == 0) {
    inputs = std::strtoull(argv[2], nullptr, 10);
  } else if (argc != 1) {
    inputs = 0;
  }
  if (!std::has_single_bit(inputs) || inputs < 1 << 16 || inputs > kAllInputs) {
    std::fprintf(stderr, "usage: %s [--sample N], N a power of two from 2^16 to 2^32\n", argv[0]);
    std::exit(2);
  }
  return inputs;
}

}  // namespace halftone
