#include "handles.h"

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
  Slot* page = new Slot[kSlotsPerPage];
  const uint32_t base = used_pages_ * kSlotsPerPage;
  for (uint32_t i = kSlotsPerPage; i-- > 0;) {
    if (base + i == 0) continue;
    page[i].next_free = first_free_;
    first_free_ = base + i;
  }
  pages_[used_pages_++].store(page, std::memory_order_release);
}

Slot& HandleTable::take_slot() {
  std::lock_guard lock(table_mutex());
  if (first_free_ == 0) add_page();
  const uint32_t index = first_free_;
  Slot& slot = *slot_at(index);
  first_free_ = slot.next_free;
  slot.next_free = index;  // while the slot is taken, its own index
  ++live_;
  return slot;
}

void* HandleTable::publish(Slot& slot, HandleType type) noexcept {
  slot.references.store(1, std::memory_order_relaxed);
  const uint64_t value = static_cast<uint64_t>(slot.generation) << 32 | static_cast<uint64_t>(slot.next_free) << 8 |
                         static_cast<uint64_t>(type);
  slot.key.store(value, std::memory_order_release);
  return reinterpret_cast<void*>(value);
}

void HandleTable::free_slot(Slot& slot) noexcept {
  std::lock_guard lock(table_mutex());
  --live_;
  // A slot whose generations are used up is never used again, so that no handle gets the value of an earlier one.
  if (++slot.generation == 0) return;
  const uint32_t index = slot.next_free;
  slot.next_free = first_free_;
  first_free_ = index;
}

}  // namespace halftone::capi
