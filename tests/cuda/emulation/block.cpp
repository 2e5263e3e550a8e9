#include "block.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "fiber.h"

namespace emulation {

constinit thread_local Size3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr unsigned kLanes = 32;

enum class Waits { kNo, kForBlock, kForWarp, kEnded };

struct Copy {
  void* to;
  const void* from;  // null for zeros
  size_t bytes;
};

struct Thread {
  std::unique_ptr<Fiber> fiber;  // null before the thread begins and after it has ended
  Waits waits = Waits::kNo;
  unsigned mask = 0;  // the lanes that a thread waits for
  // Copies of groups that are committed, and then those that are not.
  std::vector<std::vector<Copy>> committed;
  std::vector<Copy> copies;
};

// A thread of the CPU runs one block after another in the same memory.
struct Block {
  std::vector<Thread> threads;
  std::vector<Slot> slots;  // kLanes for each warp
  const std::function<void()>* kernel = nullptr;
  unsigned running = 0;
  Size3 size;
  std::vector<bool> votes;
  std::vector<Slot> shared_memory;
  std::vector<std::unique_ptr<Fiber>> spare_fibers;
};

// The block that runs.
constinit thread_local Block* block = nullptr;

[[noreturn]] void end_program(const char* reason) {
  std::fprintf(stderr, "CUDA emulation: %s (block %u, %zu threads)\n", reason, blockIdx.x, block->threads.size());
  std::abort();
}

std::unique_ptr<Fiber> take_fiber() {
  auto& spare = block->spare_fibers;
  if (spare.empty()) return std::make_unique<Fiber>();
  std::unique_ptr<Fiber> fiber = std::move(spare.back());
  spare.pop_back();
  return fiber;
}

Size3 place_in(const Size3& size, unsigned i) { return {i % size.x, i / size.x % size.y, i / (size.x * size.y)}; }

// A thread that never waits runs on a spare fiber, which the next one takes at once.
void run(unsigned i) {
  Thread& thread = block->threads[i];
  block->running = i;
  threadIdx = place_in(block->size, i);
  if (thread.fiber == nullptr) {
    thread.fiber = take_fiber();
    thread.fiber->begin([](void* kernel) { (*static_cast<const std::function<void()>*>(kernel))(); },
                        const_cast<std::function<void()>*>(block->kernel));
  } else {
    thread.fiber->resume();
  }
  if (!thread.fiber->has_ended()) return;
  thread.waits = Waits::kEnded;
  block->spare_fibers.push_back(std::move(thread.fiber));
}

void stop(Waits waits, unsigned mask) {
  Thread& thread = block->threads[block->running];
  thread.waits = waits;
  thread.mask = mask;
  thread.fiber->stop();
}

// Lets the lanes of a warp go on that wait for each other. Returns true if any could.
bool release_warp(unsigned first) {
  unsigned waiting = 0;
  for (unsigned lane = 0; lane < kLanes && first + lane < block->threads.size(); ++lane) {
    if (block->threads[first + lane].waits == Waits::kForWarp) waiting |= 1u << lane;
  }
  bool released = false;
  for (unsigned lane = 0; lane < kLanes && first + lane < block->threads.size(); ++lane) {
    Thread& thread = block->threads[first + lane];
    if (thread.waits != Waits::kForWarp || (thread.mask & waiting) != thread.mask) continue;
    const unsigned mask = thread.mask;
    for (unsigned other = 0; other < kLanes; ++other) {
      if ((mask >> other & 1) != 0) block->threads[first + other].waits = Waits::kNo;
    }
    waiting &= ~mask;
    released = true;
  }
  return released;
}

bool release_block() {
  for (const Thread& thread : block->threads) {
    if (thread.waits != Waits::kForBlock) return false;
  }
  for (Thread& thread : block->threads) thread.waits = Waits::kNo;
  return true;
}

// Returns true if any thread may go on; ends the program if threads wait for what cannot come.
bool release() {
  bool released = release_block();
  bool waits = false;
  for (unsigned first = 0; first < block->threads.size(); first += kLanes) released |= release_warp(first);
  for (const Thread& thread : block->threads) waits |= thread.waits != Waits::kEnded;
  if (waits && !released) end_program("threads wait at a barrier that others of the block never reach");
  return released;
}

void run_block(const std::function<void()>& kernel, const Size3& size) {
  const unsigned count = size.x * size.y * size.z;
  block->threads.clear();
  block->threads.resize(count);
  block->slots.resize((count + kLanes - 1) / kLanes * kLanes);
  block->votes.assign(count, false);
  block->kernel = &kernel;
  block->size = size;
  do {
    for (unsigned i = 0; i < count; ++i) {
      if (block->threads[i].waits == Waits::kNo) run(i);
    }
  } while (release());
}

}  // namespace

void run_grid(Size3 blocks, Size3 threads, size_t shared_bytes, const std::function<void()>& kernel) {
  thread_local Block own;
  block = &own;
  blockDim = threads;
  gridDim = blocks;
  const unsigned count = blocks.x * blocks.y * blocks.z;
  for (unsigned i = 0; i < count; ++i) {
    blockIdx = place_in(blocks, i);
    // Shared memory has any content at the beginning; NaN and invalid indices show who reads it too early.
    own.shared_memory.assign((shared_bytes + sizeof(Slot) - 1) / sizeof(Slot), Slot());
    std::memset(static_cast<void*>(own.shared_memory.data()), 0xff, own.shared_memory.size() * sizeof(Slot));
    run_block(kernel, threads);
  }
}

void* dynamic_shared() { return block->shared_memory.data(); }

void wait_for_block() { stop(Waits::kForBlock, 0); }

void wait_for_warp(unsigned mask) {
  if ((mask >> lane() & 1) == 0) end_program("a thread waits for a warp's mask without its own lane");
  const unsigned first = block->running / kLanes * kLanes;
  const size_t lanes = block->threads.size() - first;
  if (lanes < kLanes && mask >> lanes != 0) end_program("a mask names lanes that the warp does not have");
  stop(Waits::kForWarp, mask);
}

bool block_or(bool value) { return block_count(value) > 0; }

int block_count(bool value) {
  const unsigned own = block->running;
  block->votes[own] = value;
  wait_for_block();
  int count = 0;
  for (const bool vote : block->votes) count += vote ? 1 : 0;
  wait_for_block();
  return count;
}

Slot* warp_slots() { return &block->slots[block->running / kLanes * kLanes]; }

void copy_later(void* to, const void* from, size_t bytes) {
  std::memset(to, 0xff, bytes);
  block->threads[block->running].copies.push_back({to, from, bytes});
}

void commit_copies() {
  Thread& thread = block->threads[block->running];
  thread.committed.push_back(std::exchange(thread.copies, {}));
}

void wait_for_copies(int pending) {
  auto& groups = block->threads[block->running].committed;
  while (groups.size() > static_cast<size_t>(pending)) {
    for (const Copy& copy : groups.front()) {
      if (copy.from != nullptr) std::memcpy(copy.to, copy.from, copy.bytes);
      if (copy.from == nullptr) std::memset(copy.to, 0, copy.bytes);
    }
    groups.erase(groups.begin());
  }
}

int lane() { return static_cast<int>(block->running % kLanes); }

}  // namespace emulation

unsigned __ballot_sync(unsigned mask, int predicate) {
  unsigned votes = 0;
  emulation::Slot* slots = emulation::warp_slots();
  slots[emulation::lane()].bytes[0] = predicate != 0 ? 1 : 0;
  emulation::wait_for_warp(mask);
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) != 0 && slots[lane].bytes[0] != 0) votes |= 1u << lane;
  }
  emulation::wait_for_warp(mask);
  return votes;
}
