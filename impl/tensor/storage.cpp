#include "tensor/storage.h"

#include <utility>

#include "core/error.h"
#include "core/interrupt.h"
#include "runtime/allocator.h"
#include "runtime/context.h"
#include "runtime/recorded_step.h"
#include "runtime/stream_scope.h"

namespace halftone {

LentMemory::LentMemory(ContextDevice& device) noexcept
    : context_(Ref<Context>::share(device.context)), device_(device) {}

LentMemory::~LentMemory() {
  if (allocation_.data != nullptr) device_.allocator->release(allocation_, std::move(uses_));
}

void LentMemory::take(Allocation allocation, StreamUses uses) noexcept {
  allocation_ = allocation;
  uses_ = std::move(uses);
}

uint64_t StorageMark::next_number() noexcept {
  static constinit std::atomic<uint64_t> numbers{0};
  return numbers.fetch_add(1, std::memory_order_relaxed) + 1;
}

Storage::Storage(ContextDevice& device, Allocation allocation) noexcept
    : context_(Ref<Context>::share(device.context)), device_(device), allocation_(allocation) {}

Ref<Storage> Storage::allocate(ContextDevice& device, size_t bytes, Category category) {
  check(interruption());
  // The object is made first: nothing may fail once the block is allocated.
  Ref<Storage> storage = Ref<Storage>::adopt(new Storage(device, {}));
  if (bytes == 0) return storage;
  storage->allocation_ = device.allocator->allocate(bytes, category);
  if (StreamScope* scope = StreamScope::innermost(device); scope != nullptr) {
    // The default stream may still use the block for the tensor that had it before.
    scope->follow_default_stream();
    storage->record_stream(scope->stream());
  }
  return storage;
}

Ref<Storage> Storage::without_memory(ContextDevice& device, size_t bytes, Category category) {
  Allocation allocation;
  allocation.size = bytes;
  allocation.category = category;
  Ref<Storage> storage = Ref<Storage>::adopt(new Storage(device, allocation));
  storage->released_ = true;
  return storage;
}

Ref<Storage> Storage::borrow(ContextDevice& device, void* data) {
  Allocation allocation;
  allocation.data = data;
  Ref<Storage> storage = Ref<Storage>::adopt(new Storage(device, allocation));
  storage->borrowed_ = true;
  return storage;
}

void Storage::set_deleter(Deleter deleter, void* user) noexcept {
  deleter_ = deleter;
  user_ = user;
}

void Storage::set_category(Category category) noexcept {
  if (!borrowed_ && allocation_.data != nullptr) device_.allocator->set_category(allocation_, category);
}

bool Storage::is_of(const RecordedStep& step) const noexcept { return !borrowed_ && step.owns(allocation_); }

Ref<LentMemory> Storage::lend() {
  if (borrowed_) return nullptr;
  LentMemory* lent = lent_.load(std::memory_order_acquire);
  if (lent == nullptr) {
    Ref<LentMemory> made = make_ref<LentMemory>(device_);
    if (lent_.compare_exchange_strong(lent, made.get(), std::memory_order_acq_rel)) lent = Ref(made).detach();
  }
  return Ref<LentMemory>::share(lent);
}

void Storage::release_memory() noexcept {
  const auto lent = Ref<LentMemory>::adopt(lent_.exchange(nullptr, std::memory_order_acq_rel));
  if (allocation_.data != nullptr) {
    if (lent) {
      lent->take(allocation_, std::exchange(uses_, {}));
    } else {
      device_.allocator->release(allocation_, std::exchange(uses_, {}));
    }
  }
  allocation_.data = nullptr;
  released_ = true;
}

void Storage::refill() {
  if (!released_) return;
  // A replay would expect the memory at the address that it has now.
  if (const RecordedStep* step = RecordedStep::current(); step != nullptr && &step->device() == &device_) {
    fail(Code::kState, "", "weights that come and go, as sharded ones do, cannot be part of a graph");
  }
  if (allocation_.size > 0) allocation_ = device_.allocator->allocate(allocation_.size, allocation_.category);
  released_ = false;
}

void Storage::record_stream(Stream& stream) {
  if (!borrowed_ && allocation_.data != nullptr) device_.allocator->add_use(uses_, stream);
}

Storage::~Storage() {
  const auto lent = Ref<LentMemory>::adopt(lent_.load(std::memory_order_acquire));
  if (!borrowed_ && allocation_.data != nullptr) device_.allocator->release(allocation_, std::move(uses_));
  if (deleter_) deleter_(user_);
}

}  // namespace halftone
