#include "runtime/allocator.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/fork_hook.h"
#include "runtime/memory/asan_poison.h"
#include "runtime/memory/memory_pool.h"

namespace halftone {
namespace {

// The size of a huge page (host_memory.cpp).
constexpr size_t kSegmentSize = size_t{2} << 20;
// A new segment may be larger than its request, to serve further ones as well: if each large request has a segment of
// its own, the rounded part of each serves small requests only. A new segment adds this part of the memory that is
// reserved, of what the limit leaves, and at most this size, unless the request is larger.
constexpr size_t kSharedPart = 8;
constexpr size_t kLargestShared = size_t{64} << 20;
// Checked before sizes are rounded up, so that rounding cannot overflow.
constexpr size_t kLargestRequest = size_t{1} << 48;

constexpr size_t whole_segments(size_t bytes) { return (bytes + kSegmentSize - 1) / kSegmentSize * kSegmentSize; }

}  // namespace

// The lock is released while the device allocates or frees: the embedding program's allocator functions may run there,
// and they may call the library. `reserved` is raised before the lock is released, so that concurrent requests keep the
// limit.
struct CachingAllocator::State {
  using Lock = std::unique_lock<ForkMutex>;

  explicit State(Device& memory_device) : device(memory_device), poisons(memory_device.host_accessible()) {}

  // Released memory that streams other than the default, or recorded work, still use.
  struct Pending {
    Allocation allocation;
    StreamUses uses;
    uint32_t last_user = 0;  // the number of the last recording that may have used it
  };

  Allocation take_cell(Lock& lock, MemoryPool& pool, size_t bytes);
  Allocation take_pages(Lock& lock, MemoryPool& pool, size_t bytes);
  PageBlock* take_block(Lock& lock, MemoryPool& pool, size_t size, size_t requested);
  PageBlock* grow(Lock& lock, MemoryPool& pool, size_t size, size_t requested);
  size_t shared_size() const noexcept;
  size_t segment_size(size_t size) const noexcept;
  Status ask_segment(Lock& lock, size_t size, size_t* bytes, void** out) noexcept;
  Status ask_device(Lock& lock, size_t bytes, void** out) noexcept;
  [[noreturn]] void fail_to_grow(const Status& status, const MemoryPool& pool, size_t requested) const;
  MemoryPool& pool_of(const Allocation& allocation) noexcept;
  void give(const Allocation& allocation) noexcept;
  static void give_cell(MemoryPool& pool, Slab* slab, const void* cell) noexcept;
  static void keep(std::vector<Pending>& list, const Allocation& allocation, StreamUses uses, uint32_t last_user);
  // True if this thread records.
  bool is_recording() const noexcept { return open != nullptr && recorder == std::this_thread::get_id(); }
  bool is_needed(uint32_t after, uint32_t last) const noexcept;
  void release_unneeded() noexcept;
  void join_common(MemoryPool& pool) noexcept;
  void release_cached(Lock& lock) noexcept;
  void collect_finished() noexcept;
  Status collect_all(Lock& lock) noexcept;
  void count(int64_t bytes, Category category) noexcept;
  void note_peak() noexcept;

  Device& device;
  const bool poisons;
  ForkMutex mutex;
  MemoryPool common;
  MemoryStats stats;
  std::vector<Pending> pending;  // until streams have finished

  // Recorded work uses the memory of its recording, and may use all that existed when the recording began.
  uint32_t recordings = 0;  // begun so far
  std::vector<std::unique_ptr<MemoryPool>> pools;
  MemoryPool* open = nullptr;  // of the recording under way
  std::thread::id recorder;
  std::vector<Pending> held;  // until no recorded work needs it
};

Allocation CachingAllocator::State::take_cell(Lock& lock, MemoryPool& pool, size_t bytes) {
  SlabList& list = pool.slabs[cell_class_of(bytes)];
  if (list.first() == nullptr) {
    auto fresh = std::make_unique<Slab>(cell_class_of(bytes));
    fresh->set_block(take_block(lock, pool, kSlabSize, bytes));
    list.add(fresh.release());
  }
  Slab* slab = list.first();
  void* data = slab->take();
  if (slab->is_full()) list.remove(slab);
  return {.data = data, .block = slab};
}

Allocation CachingAllocator::State::take_pages(Lock& lock, MemoryPool& pool, size_t bytes) {
  PageBlock* block = take_block(lock, pool, whole_pages(bytes), bytes);
  return {.data = block->data, .block = block};
}

PageBlock* CachingAllocator::State::take_block(Lock& lock, MemoryPool& pool, size_t size, size_t requested) {
  PageBlock* block = pool.pages.take(size);
  return block != nullptr ? block : grow(lock, pool, size, requested);
}

PageBlock* CachingAllocator::State::grow(Lock& lock, MemoryPool& pool, size_t size, size_t requested) {
  // Made before the device is asked, so that nothing can fail once it has allocated.
  auto segment = std::make_unique<PageBlock>();
  auto rest = std::make_unique<PageBlock>();
  void* data = nullptr;
  size_t bytes = 0;
  Status status = ask_segment(lock, size, &bytes, &data);
  // A recording can neither wait nor return memory to the device; the cache was emptied when it began.
  if (status.code == Code::kOutOfMemory && !is_recording()) {
    // A fault in that work is reported here, where its stream is waited for.
    if (const Status fault = collect_all(lock); !fault.ok()) fail(fault);
    release_cached(lock);
    // A block may fit now: from empty slabs, or released by another thread meanwhile.
    if (PageBlock* block = pool.pages.take(size); block != nullptr) return block;
    status = ask_segment(lock, size, &bytes, &data);
  }
  if (!status.ok()) fail_to_grow(status, pool, requested);
  ++stats.device_allocations;
  if (poisons) poison(data, bytes);
  return pool.pages.take_from_new(data, bytes, size, std::move(segment), std::move(rest));
}

// The size of a new segment for small requests: a fraction of the bytes left under the limit, so that later requests
// can still use the rest.
size_t CachingAllocator::State::shared_size() const noexcept {
  int64_t memory = stats.reserved;
  if (stats.limit != 0) memory = std::min(memory, std::max<int64_t>(stats.limit - stats.reserved, 0));
  return std::min(static_cast<size_t>(memory) / kSharedPart, kLargestShared);
}

// A segment that would pass the limit is not rounded up.
size_t CachingAllocator::State::segment_size(size_t size) const noexcept {
  const size_t bytes = whole_segments(std::max(size, shared_size()));
  const bool fits = stats.limit == 0 || stats.reserved + static_cast<int64_t>(bytes) <= stats.limit;
  return fits ? bytes : size;
}

Status CachingAllocator::State::ask_segment(Lock& lock, size_t size, size_t* bytes, void** out) noexcept {
  *bytes = segment_size(size);
  const Status status = ask_device(lock, *bytes, out);
  if (status.code != Code::kOutOfMemory || *bytes <= whole_segments(size)) return status;
  *bytes = whole_segments(size);
  return ask_device(lock, *bytes, out);
}

Status CachingAllocator::State::ask_device(Lock& lock, size_t bytes, void** out) noexcept {
  const auto signed_bytes = static_cast<int64_t>(bytes);
  if (stats.limit > 0 && stats.reserved + signed_bytes > stats.limit) {
    return Status::failure(Code::kOutOfMemory, "the memory limit is reached");
  }
  stats.reserved += signed_bytes;
  lock.unlock();
  const Status status = device.allocate(bytes, out);
  lock.lock();
  if (!status.ok()) stats.reserved -= signed_bytes;
  return status;
}

void CachingAllocator::State::fail_to_grow(const Status& status, const MemoryPool& pool, size_t requested) const {
  // From the CPU device this means that the embedding program's allocator broke its contract.
  if (status.code == Code::kInvalidArgument) fail(status.code, "options.allocator", "%s", status.message);
  if (status.code != Code::kOutOfMemory) fail(status);
  fail(Code::kOutOfMemory, "",
       "out of memory: requested %zu bytes, current %lld, reserved %lld, free among these %zu, limit %lld "
       "(device %s: %s)",
       requested, static_cast<long long>(stats.current), static_cast<long long>(stats.reserved),
       pool.pages.free_bytes(), static_cast<long long>(stats.limit), device.name(), status.message);
}

// The number of a recording is that of its pool, which stays as long as an allocation of it.
MemoryPool& CachingAllocator::State::pool_of(const Allocation& allocation) noexcept {
  if (allocation.is_recorded == 0) return common;
  return **std::find_if(pools.begin(), pools.end(),
                        [&](const std::unique_ptr<MemoryPool>& pool) { return pool->number == allocation.recordings; });
}

void CachingAllocator::State::give(const Allocation& allocation) noexcept {
  if (poisons) poison(allocation.data, allocation.size);
  MemoryPool& pool = pool_of(allocation);
  if (allocation.size <= kLargestCell) {
    give_cell(pool, static_cast<Slab*>(allocation.block), allocation.data);
  } else {
    pool.pages.give(static_cast<PageBlock*>(allocation.block));
  }
  if (--pool.live > 0 || &pool == &common) return;
  pool.last_user = recordings;
  if (pool.is_retired) release_unneeded();
}

void CachingAllocator::State::give_cell(MemoryPool& pool, Slab* slab, const void* cell) noexcept {
  SlabList& list = pool.slabs[slab->cell_class()];
  const bool was_full = slab->is_full();
  slab->give(cell);
  if (was_full) list.add(slab);
  // Keep one empty slab, so that a request that comes and goes does not create and drop a slab each time.
  if (slab->is_empty() && !list.holds_only(slab)) pool.drop(slab);
}

// If there is no memory for the entry, the block stays out of use.
void CachingAllocator::State::keep(std::vector<Pending>& list, const Allocation& allocation, StreamUses uses,
                                   uint32_t last_user) {
  try {
    list.emplace_back();
    list.back() = {allocation, std::move(uses), last_user};
  } catch (const std::bad_alloc&) {
  }
}

// True if a live recording has a number in (after, last].
bool CachingAllocator::State::is_needed(uint32_t after, uint32_t last) const noexcept {
  return std::any_of(pools.begin(), pools.end(), [&](const std::unique_ptr<MemoryPool>& pool) {
    return !pool->is_retired && pool->number > after && pool->number <= last;
  });
}

void CachingAllocator::State::release_unneeded() noexcept {
  std::vector<Pending> entries = std::exchange(held, {});
  for (Pending& entry : entries) {
    if (is_needed(entry.allocation.recordings, entry.last_user)) {
      keep(held, entry.allocation, std::move(entry.uses), entry.last_user);
    } else if (entry.uses.empty()) {
      give(entry.allocation);
    } else {
      entry.uses.record();
      keep(pending, entry.allocation, std::move(entry.uses), 0);
    }
  }
  std::erase_if(pools, [this](const std::unique_ptr<MemoryPool>& pool) {
    if (!pool->is_retired || pool->live > 0 || is_needed(pool->number, pool->last_user)) return false;
    join_common(*pool);
    return true;
  });
}

void CachingAllocator::State::join_common(MemoryPool& pool) noexcept {
  pool.drop_empty_slabs();
  common.pages.add_free_segments(pool.pages.take_out_free_segments());
}

void CachingAllocator::State::collect_finished() noexcept {
  const auto is_finished = [this](Pending& entry) {
    if (!entry.uses.are_reached()) return false;
    give(entry.allocation);
    return true;
  };
  pending.erase(std::remove_if(pending.begin(), pending.end(), is_finished), pending.end());
}

// Waits without the lock, because the work of a stream may take long.
Status CachingAllocator::State::collect_all(Lock& lock) noexcept {
  const std::vector<Pending> waiting = std::exchange(pending, {});
  Status first;
  lock.unlock();
  for (const Pending& entry : waiting) {
    const Status status = entry.uses.wait();
    if (first.ok()) first = status;
  }
  lock.lock();
  for (const Pending& entry : waiting) give(entry.allocation);
  return first;
}

void CachingAllocator::State::release_cached(Lock& lock) noexcept {
  if (is_recording()) return;
  collect_finished();
  common.drop_empty_slabs();
  PageBlock* chain = common.pages.take_out_free_segments();
  int64_t released = 0;
  lock.unlock();
  while (chain != nullptr) {
    const std::unique_ptr<PageBlock> segment(chain);
    chain = segment->next;
    if (poisons) unpoison(segment->data, segment->size);
    device.deallocate(segment->data, segment->size);
    released += static_cast<int64_t>(segment->size);
  }
  lock.lock();
  // Only now: the memory counts against the limit until the device has it back.
  stats.reserved -= released;
}

void CachingAllocator::State::count(int64_t bytes, Category category) noexcept {
  stats.current += bytes;
  stats.by_category[static_cast<int>(category)] += bytes;
  if (stats.current > stats.peak) note_peak();
}

void CachingAllocator::State::note_peak() noexcept {
  stats.peak = stats.current;
  std::copy(std::begin(stats.by_category), std::end(stats.by_category), stats.peak_by_category);
}

CachingAllocator::CachingAllocator(Device& device) : state_(std::make_unique<State>(device)) {}

CachingAllocator::~CachingAllocator() {
  State::Lock lock(state_->mutex);
  (void)state_->collect_all(lock);  // no caller is left that could get the error
  state_->release_cached(lock);
}

Allocation CachingAllocator::allocate(size_t bytes, Category category) {
  if (bytes == 0) return {.category = category};
  State& state = *state_;
  State::Lock lock(state.mutex);
  const bool records = state.is_recording();
  MemoryPool& pool = records ? *state.open : state.common;
  if (bytes > kLargestRequest) {
    state.fail_to_grow(Status::failure(Code::kOutOfMemory, "the request is larger than any device"), pool, bytes);
  }
  if (!state.pending.empty() && !records) state.collect_finished();
  Allocation allocation =
      bytes <= kLargestCell ? state.take_cell(lock, pool, bytes) : state.take_pages(lock, pool, bytes);
  allocation.size = bytes;
  allocation.category = category;
  allocation.recordings = state.recordings;
  allocation.is_recorded = records ? 1 : 0;
  ++pool.live;
  state.count(static_cast<int64_t>(bytes), category);
  ++state.stats.allocations;
  if (state.poisons) unpoison(allocation.data, bytes);
  return allocation;
}

void CachingAllocator::release(const Allocation& allocation, StreamUses uses) noexcept {
  if (allocation.block == nullptr) return;
  State& state = *state_;
  const State::Lock lock(state.mutex);
  state.count(-static_cast<int64_t>(allocation.size), allocation.category);
  const bool is_of_pool = allocation.is_recorded != 0;
  // Recorded events cannot be asked for: what other streams use waits for the end of the recording.
  const bool is_recorded = state.is_recording() && !(is_of_pool && uses.empty());
  if (is_recorded || (!is_of_pool && state.is_needed(allocation.recordings, state.recordings))) {
    return State::keep(state.held, allocation, is_of_pool ? StreamUses() : std::move(uses), state.recordings);
  }
  if (uses.empty()) return state.give(allocation);
  uses.record();
  try {
    state.pending.emplace_back();
    state.pending.back() = {allocation, std::move(uses)};
  } catch (const std::bad_alloc&) {
    (void)uses.wait();
    state.give(allocation);
  }
}

MemoryPool* CachingAllocator::begin_recording() {
  State& state = *state_;
  auto pool = std::make_unique<MemoryPool>();
  State::Lock lock(state.mutex);
  if (state.open != nullptr) fail(Code::kState, "", "another graph of device %s is captured", state.device.name());
  state.pools.reserve(state.pools.size() + 1);
  state.release_cached(lock);
  pool->number = ++state.recordings;
  state.open = pool.get();
  state.recorder = std::this_thread::get_id();
  state.pools.push_back(std::move(pool));
  return state.open;
}

void CachingAllocator::end_recording() noexcept {
  const State::Lock lock(state_->mutex);
  state_->open = nullptr;
  state_->release_unneeded();
}

void CachingAllocator::release_pool(MemoryPool* pool) noexcept {
  const State::Lock lock(state_->mutex);
  pool->is_retired = true;
  pool->last_user = state_->recordings;
  state_->release_unneeded();
}

void CachingAllocator::set_category(Allocation& allocation, Category category) noexcept {
  const auto bytes = static_cast<int64_t>(allocation.size);
  const State::Lock lock(state_->mutex);
  state_->stats.by_category[static_cast<int>(allocation.category)] -= bytes;
  state_->stats.by_category[static_cast<int>(category)] += bytes;
  allocation.category = category;
}

void CachingAllocator::add_use(StreamUses& uses, Stream& stream) {
  if (&stream == &state_->device.stream()) return;
  const State::Lock lock(state_->mutex);
  uses.add(state_->device, stream);
}

MemoryStats CachingAllocator::stats() const noexcept {
  const State::Lock lock(state_->mutex);
  return state_->stats;
}

void CachingAllocator::reset_peak() noexcept {
  const State::Lock lock(state_->mutex);
  state_->note_peak();
}

void CachingAllocator::set_limit(int64_t bytes) noexcept {
  const State::Lock lock(state_->mutex);
  state_->stats.limit = std::max<int64_t>(bytes, 0);
}

void CachingAllocator::release_cached() noexcept {
  State::Lock lock(state_->mutex);
  state_->release_cached(lock);
}

}  // namespace halftone
