// Runs the threads of a kernel's blocks on one thread of the CPU: in turn, each until it waits for others of its block
// or warp, or ends. A barrier that some thread of the block never reaches ends the program with a message, as does a
// block that waits for ever. One grid at a time on a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#pragma GCC visibility push(default)
namespace emulation {

struct Size3 {
  unsigned x = 0, y = 0, z = 0;
};

// The place of the thread that runs now. One copy for all libraries that use the emulation.
extern constinit thread_local Size3 threadIdx, blockIdx, blockDim, gridDim;

// Bytes of shared memory that a block may ask for, as on an H100.
inline constexpr size_t kSharedMemory = 227 << 10;

// Runs `kernel` once for every thread of the grid.
void run_grid(Size3 blocks, Size3 threads, size_t shared_bytes, const std::function<void()>& kernel);

void* dynamic_shared();

// __syncthreads
void wait_for_block();
bool block_or(bool value);
int block_count(bool value);
// __syncwarp: waits for the lanes of `mask` in the caller's warp.
void wait_for_warp(unsigned mask);

// Memory of the caller's warp through which lanes exchange values.
struct Slot {
  alignas(16) unsigned char bytes[32];
};
Slot* warp_slots();
int lane();

// Returns the value of lane `source(own lane)`. Only lanes of the mask may be read.
template <class T, class Source>
T exchange(unsigned mask, T value, Source source) {
  static_assert(sizeof(T) <= sizeof(Slot));
  Slot* slots = warp_slots();
  std::memcpy(slots[lane()].bytes, &value, sizeof value);
  wait_for_warp(mask);
  std::memcpy(&value, slots[source(lane()) & 31].bytes, sizeof value);
  wait_for_warp(mask);
  return value;
}

// Calls read(values), with the values of all 32 lanes in order, on every lane of a whole warp. No lane goes on before
// all have read, so `read` may read memory that lanes write next, as an instruction of a whole warp does.
template <class T, class Read>
void read_warp(const T& value, Read read) {
  static_assert(sizeof(T) <= sizeof(Slot));
  Slot* slots = warp_slots();
  std::memcpy(slots[lane()].bytes, &value, sizeof value);
  wait_for_warp(0xffffffffu);
  T values[32];
  for (int i = 0; i < 32; ++i) std::memcpy(&values[i], slots[i].bytes, sizeof value);
  read(values);
  wait_for_warp(0xffffffffu);
}

// cp.async: copies bytes to shared memory when the thread waits for it, and not earlier; until then the target is
// filled with 0xff, so that NaN shows who reads it too early. Null `from` fills with 0.
void copy_later(void* to, const void* from, size_t bytes);
// Ends a group of copies.
void commit_copies();
// Makes all groups but the last `pending` ones.
void wait_for_copies(int pending);

}  // namespace emulation
#pragma GCC visibility pop
