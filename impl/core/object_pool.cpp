#include "core/object_pool.h"

#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HALFTONE_CHECKED_HEAP 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HALFTONE_CHECKED_HEAP 1
#endif

namespace halftone {
namespace {

// A sanitizer sees a use after release, and a race on a released object, only if each object has its own block.
#ifdef HALFTONE_CHECKED_HEAP
constexpr bool kIsOff = true;
#else
constexpr bool kIsOff = false;
#endif

// Sizes of blocks are those that glibc's heap has, 8 bytes less than a multiple of 16, so that none is rounded up twice.
constexpr size_t kStep = 16;
constexpr size_t kSizes = 65;
constexpr size_t kShards = 16;
constexpr size_t kMostKept = size_t{8} << 20;

size_t size_index(size_t bytes) noexcept { return (bytes + kStep / 2 - 1) / kStep; }
size_t block_bytes(size_t index) noexcept { return index * kStep + kStep / 2; }

struct FreeBlock {
  FreeBlock* next;
};
using FreeLists = std::array<FreeBlock*, kSizes>;

constinit std::atomic<int64_t> users{0};

// The free blocks of a few threads. A thread that finds a shard taken uses another one or the heap.
class alignas(64) Shard {
 public:
  // Null if there is no such block, or the shard is taken.
  void* take(size_t index) noexcept {
    if (kept_.load(std::memory_order_relaxed) == 0 || !try_lock()) return nullptr;
    FreeBlock* block = first_[index];
    if (block != nullptr) {
      first_[index] = block->next;
      count(-static_cast<int64_t>(block_bytes(index)));
    }
    unlock();
    return block;
  }

  // Returns false if the shard is taken or full, or the pool has no user.
  bool keep(void* memory, size_t index) noexcept {
    if (!try_lock()) return false;
    const auto bytes = static_cast<int64_t>(block_bytes(index));
    const bool fits = kept_.load(std::memory_order_relaxed) + bytes <= static_cast<int64_t>(kMostKept);
    // Read under the lock: the last user takes the lock after it has left, and finds every block that came before.
    const bool keeps = fits && users.load() > 0;
    if (keeps) {
      first_[index] = new (memory) FreeBlock{first_[index]};
      count(bytes);
    }
    unlock();
    return keeps;
  }

  void clear() noexcept {
    while (!try_lock()) sched_yield();
    FreeLists blocks = std::exchange(first_, {});
    kept_.store(0, std::memory_order_relaxed);
    unlock();
    for (FreeBlock* block : blocks) {
      while (block != nullptr) ::operator delete(std::exchange(block, block->next));
    }
  }

  // In a child after fork(): a thread that does not exist here may have been in the middle of a change.
  void recover() noexcept {
    if (!is_taken_.load(std::memory_order_relaxed)) return;
    first_ = {};
    kept_.store(0, std::memory_order_relaxed);
    unlock();
  }

 private:
  bool try_lock() noexcept { return !is_taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { is_taken_.store(false, std::memory_order_release); }
  void count(int64_t bytes) noexcept {
    kept_.store(kept_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  std::atomic<bool> is_taken_{false};
  std::atomic<int64_t> kept_{0};  // bytes in the lists; written under the lock
  FreeLists first_ = {};
};

constinit Shard shards[kShards];

// Threads get the shards in turn.
Shard& shard_of_thread(size_t distance) noexcept {
  static constinit std::atomic<uint32_t> next{0};
  static thread_local constinit uint32_t number = 0;  // 0: none yet
  if (number == 0) [[unlikely]]
    number = next.fetch_add(1, std::memory_order_relaxed) % kShards + 1;
  return shards[(number + distance) % kShards];
}

}  // namespace

// Other shards have the blocks that another thread released, such as one that collects garbage.
void* ObjectPool::allocate(size_t bytes) {
  const size_t index = size_index(bytes);
  if (kIsOff || index >= kSizes) return ::operator new(bytes);
  for (size_t i = 0; i < kShards; ++i) {
    if (void* memory = shard_of_thread(i).take(index)) return memory;
  }
  return ::operator new(block_bytes(index));
}

void* ObjectPool::try_allocate(size_t bytes) noexcept {
  try {
    return allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void ObjectPool::release(void* memory, size_t bytes) noexcept {
  const size_t index = size_index(bytes);
  if (kIsOff || index >= kSizes || !shard_of_thread(0).keep(memory, index)) ::operator delete(memory);
}

ObjectPool::User::User(bool keeps)
    : keeps_(keeps),
      hook_({.before = nullptr,
             .in_parent = nullptr,
             .in_child =
                 [](void*) noexcept {
                   for (Shard& shard : shards) shard.recover();
                 }},
            nullptr) {
  if (keeps_) users.fetch_add(1);
}

ObjectPool::User::~User() {
  if (!keeps_ || users.fetch_sub(1) != 1) return;
  for (Shard& shard : shards) shard.clear();
}

}  // namespace halftone
