#include "tensor/storage.h"

namespace halftone {

Storage::Storage(ContextDevice& device, Allocation allocation) noexcept
    : context_(Ref<Context>::share(device.context)), device_(device), allocation_(allocation) {}

Ref<Storage> Storage::allocate(ContextDevice& device, size_t bytes, Category category) {
  // The object is made first: nothing may fail once the block is allocated.
  Ref<Storage> storage = Ref<Storage>::adopt(new Storage(device, {}));
  if (bytes > 0) storage->allocation_ = device.allocator->allocate(bytes, category);
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

void Storage::release_memory() noexcept {
  if (allocation_.data != nullptr) device_.allocator->release(allocation_);
  allocation_.data = nullptr;
  released_ = true;
}

void Storage::refill() {
  if (!released_) return;
  if (allocation_.size > 0) allocation_ = device_.allocator->allocate(allocation_.size, allocation_.category);
  released_ = false;
}

Storage::~Storage() {
  if (!borrowed_ && allocation_.data != nullptr) device_.allocator->release(allocation_);
  if (deleter_) deleter_(user_);
}

}  // namespace halftone
