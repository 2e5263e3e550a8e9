// Counters and switches of the emulated CUDA runtime, for tests. Safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace emulation {

struct Counts {
  std::atomic<int64_t> waits{0};  // for a stream or an event
  std::atomic<int64_t> prefetches{0};
  std::atomic<int64_t> searches{0};        // for an algorithm of cuBLASLt
  std::atomic<int64_t> products{0};        // of cuBLASLt
  std::atomic<int64_t> block_products{0};  // those with scales of blocks
  std::atomic<int64_t> graphs{0};          // launches of graphs
  std::atomic<int64_t> queued{0};          // kernels, transfers and calls of libraries
};
inline Counts counts;

// True: a wait for one stream runs all other streams first. False: they run only as far as an event demands it.
inline std::atomic<bool> runs_others_first{false};

// Bytes of device memory that may be allocated at a time.
inline constexpr int64_t kDeviceMemory = int64_t{2} << 30;
inline std::atomic<int64_t> memory_limit{kDeviceMemory};

inline constexpr int kMostDevices = 8;

// The machine as the runtime describes it.
struct MachineAnswers {
  std::atomic<int32_t> device_count_error{0};  // what cudaGetDeviceCount returns
  std::atomic<int32_t> driver_version{13000};
  std::atomic<int32_t> capability_major{9};
  std::atomic<int32_t> device_count{2};   // at most kMostDevices
  std::atomic<bool> has_rare_ends{true};  // cuBLASLt has algorithms for ends besides a bias
};
inline MachineAnswers machine_answers;

}  // namespace emulation
