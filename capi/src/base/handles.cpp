#include "base/handles.h"

#include <iterator>
#include <mutex>

#include "core/fork_hook.h"

namespace halftone::capi {

namespace {

// Never destroyed: handles may be released while the process exits.
ForkMutex& table_mutex() {
  static ForkMutex* const mutex = new ForkMutex;
  return *mutex;
}

}  // namespace

const char* name_with_article(HandleType type) noexcept {
  // In the order of HandleType.
  static constexpr const char* kNames[] = {
      "no live handle",
      "a context",
      "a device",
      "a tensor",
      "a scope",
      "a stack of scopes",
      "an autocast policy",
      "a parameter",
      "a set of parameters",
      "a module",
      "a state dict",
      "an optimizer",
      "a schedule",
      "a gradient scaler",
      "moving averages",
      "a sampler",
      "a source of batches",
      "a checkpoint object",
      "a function",
      "a hook",
      "a store",
      "a group",
      "an operation of a group",
      "a replicated model",
      "a sharded model",
      "a graph",
      "a recipe",
      "a scaled tensor",
      "a trainer",
      "a record of a run",
  };
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "an unknown handle";
}

constinit HandleTable HandleTable::table_;

HandleType HandleTable::type_of(const void* handle) noexcept {
  const auto type = static_cast<HandleType>(reinterpret_cast<uint64_t>(handle) & 0xff);
  return find(handle, type) != nullptr ? type : HandleType::kNone;
}

int64_t HandleTable::live_count() noexcept {
  std::lock_guard lock(table_mutex());
  return live_;
}

void HandleTable::add_page() {
  if (used_pages_ == kPageCount) throw std::bad_alloc();
  HandleEntry* page = new HandleEntry[kEntriesPerPage];
  const uint32_t base = used_pages_ * kEntriesPerPage;
  for (uint32_t i = kEntriesPerPage; i-- > 0;) {
    if (base + i == 0) continue;
    page[i].next_free = first_free_;
    first_free_ = base + i;
  }
  pages_[used_pages_++].store(page, std::memory_order_release);
}

HandleEntry& HandleTable::take_entry() {
  std::lock_guard lock(table_mutex());
  if (first_free_ == 0) add_page();
  const uint32_t index = first_free_;
  HandleEntry& entry = *entry_at(index);
  first_free_ = entry.next_free;
  entry.next_free = index;  // while the entry is taken, its own index
  ++live_;
  return entry;
}

void* HandleTable::publish(HandleEntry& entry, HandleType type) noexcept {
  entry.references.store(1, std::memory_order_relaxed);
  const uint64_t value = static_cast<uint64_t>(entry.generation) << 32 | static_cast<uint64_t>(entry.next_free) << 8 |
                         static_cast<uint64_t>(type);
  entry.key.store(value, std::memory_order_release);
  return reinterpret_cast<void*>(value);
}

void HandleTable::free_entry(HandleEntry& entry) noexcept {
  std::lock_guard lock(table_mutex());
  --live_;
  // An entry whose generations are used up is never used again, so that no handle gets the value of an earlier one.
  if (++entry.generation == 0) return;
  const uint32_t index = entry.next_free;
  entry.next_free = first_free_;
  first_free_ = index;
}

}  // namespace halftone::capi
