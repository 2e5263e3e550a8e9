// The table behind every handle of the C API. A handle is a number that looks like a pointer: entry index, generation
// and type. NULL, released handles, handles of another type and random numbers are told apart from live ones by one
// load and one compare; entries are never unmapped, so that a stale handle can always be checked. An entry holds one
// reference to an object and counts the handle's own references. Safe from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace halftone::capi {

enum class HandleType : uint8_t {
  kNone,
  kContext,
  kDevice,
  kTensor,
  kScope,
  kScopeStack,
  kAutocastPolicy,
  kParameter,
  kParameters,
  kModule,
  kStateDict,
  kOptimizer,
  kSchedule,
  kGradScaler,
  kEma,
  kSampler,
  kBatches,
  kCheckpoint,
  kFunction,
  kHook,
  kStore,
  kGroup,
  kWork,
  kDdp,
  kFsdp,
  kGraph,
  kRecipe,
  kScaled,
  kTrainer,
  kStatistics,
  kLast = kStatistics,
};

// "a tensor", "an optimizer", for messages.
const char* name_with_article(HandleType type) noexcept;

struct alignas(32) HandleEntry {
  std::atomic<uint64_t> key{0};  // the live handle's value; 0 where the entry is free
  std::atomic<uint32_t> references{0};
  uint32_t generation = 0;
  alignas(8) std::byte object[8];  // a reference type of one word, such as Tensor or Ref<nn::Module>
  uint32_t next_free = 0;
};

class HandleTable {
 public:
  // The process's table, which is never destroyed.
  static HandleTable& instance() noexcept { return table_; }

  // The live entry of a handle, null where the value is no live handle of the type.
  HandleEntry* find(const void* handle, HandleType type) noexcept {
    const auto value = reinterpret_cast<uint64_t>(handle);
    if ((value & 0xff) != static_cast<uint64_t>(type)) return nullptr;
    HandleEntry* entry = entry_at(index_of(value));
    return entry != nullptr && entry->key.load(std::memory_order_acquire) == value ? entry : nullptr;
  }

  // Puts an object into a free entry and returns its handle. Throws std::bad_alloc.
  template <class Object>
  void* add(HandleType type, Object object) {
    static_assert(sizeof(Object) == sizeof(HandleEntry::object));
    HandleEntry& entry = take_entry();
    new (entry.object) Object(std::move(object));
    set_end(type, &end<Object>);
    return publish(entry, type);
  }

  void retain(HandleEntry& entry) noexcept { entry.references.fetch_add(1, std::memory_order_relaxed); }

  // Releases a reference. The handle dies with the last one, and the object is released outside any lock.
  void release(HandleEntry& entry) noexcept {
    if (entry.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const auto type = entry.key.load(std::memory_order_relaxed) & 0xff;
    entry.key.store(0, std::memory_order_relaxed);
    ends_[type].load(std::memory_order_relaxed)(entry);
  }
  // Releases a reference of a handle of any type. Does nothing for a value that is no live handle.
  void drop(void* handle) noexcept {
    if (handle == nullptr) return;  // the key of free entries
    HandleEntry* entry = find(handle, static_cast<HandleType>(reinterpret_cast<uint64_t>(handle) & 0xff));
    if (entry != nullptr) release(*entry);
  }

  // The type of a live handle, kNone for anything else; for messages.
  HandleType type_of(const void* handle) noexcept;
  int64_t live_count() noexcept;
  // Calls visit(handle) for every live handle. Others may come and go meanwhile.
  template <class Visit>
  void for_each_live(const Visit& visit) {
    for (auto& slot : pages_) {
      HandleEntry* page = slot.load(std::memory_order_acquire);
      if (page == nullptr) return;
      for (uint32_t i = 0; i < kEntriesPerPage; ++i) {
        const uint64_t key = page[i].key.load(std::memory_order_acquire);
        if (key != 0) visit(reinterpret_cast<void*>(key));
      }
    }
  }

 private:
  static HandleTable table_;

  static constexpr uint32_t kEntriesPerPage = 4096;
  static constexpr uint32_t kPageCount = 4096;

  static uint32_t index_of(uint64_t value) noexcept { return static_cast<uint32_t>(value >> 8) & 0xffffff; }
  HandleEntry* entry_at(uint32_t index) noexcept {
    HandleEntry* page = pages_[index / kEntriesPerPage].load(std::memory_order_acquire);
    return page == nullptr ? nullptr : page + index % kEntriesPerPage;
  }

  // Frees an entry and releases its object. The table keeps one function for each type, so that it can release a handle
  // without the definition of its object's class.
  using End = void (*)(HandleEntry& entry) noexcept;
  template <class Object>
  static void end(HandleEntry& entry) noexcept {
    auto* stored = std::launder(reinterpret_cast<Object*>(entry.object));
    const Object object = std::move(*stored);
    stored->~Object();
    table_.free_entry(entry);
  }
  // Read before it is written: all threads that make handles share the cache line. publish() makes it visible.
  void set_end(HandleType type, End end) noexcept {
    std::atomic<End>& known = ends_[static_cast<size_t>(type)];
    if (known.load(std::memory_order_relaxed) != end) known.store(end, std::memory_order_relaxed);
  }

  HandleEntry& take_entry();
  void* publish(HandleEntry& entry, HandleType type) noexcept;
  void free_entry(HandleEntry& entry) noexcept;
  void add_page();

  std::atomic<HandleEntry*> pages_[kPageCount] = {};
  std::atomic<End> ends_[static_cast<size_t>(HandleType::kLast) + 1] = {};
  // Guarded by the mutex in handles.cpp.
  uint32_t used_pages_ = 0;
  uint32_t first_free_ = 0;  // 0 is the end of the list: entry 0 is never given out
  int64_t live_ = 0;
};

}  // namespace halftone::capi
