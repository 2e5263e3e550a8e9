// Device memory that tensors share, with the version counter that backward checks. The memory is a block of the
// device's allocator, or the caller's own with a deleter.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/foreign_function.h"
#include "core/ref.h"
#include "runtime/context.h"

namespace halftone {

class Storage final : public RefCounted {
 public:
  using Deleter = ForeignFunction<void(void* user)>;

  // Throws OUT_OF_MEMORY.
  static Ref<Storage> allocate(ContextDevice& device, size_t bytes, Category category);
  // The caller's memory, which the storage never frees itself.
  static Ref<Storage> borrow(ContextDevice& device, void* data);
  // `deleter` (may be null) runs once with `user` when the last reference goes. REQUIRES: a borrowed storage.
  void set_deleter(Deleter deleter, void* user) noexcept;

  // Cannot be revoked. REQUIRES: the storage is not shared yet. Functions that write in place for a caller check it.
  void forbid_writes() noexcept { read_only_ = true; }
  bool is_read_only() const noexcept { return read_only_; }

  ~Storage() override;

  void* data() const noexcept { return allocation_.data; }
  ContextDevice& device() const noexcept { return device_; }

  // The number of writes since creation. A saved tensor is stale if its storage's version has changed since the save.
  uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  void bump_version() noexcept { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Storage(ContextDevice& device, Allocation allocation) noexcept;

  Ref<Context> context_;  // keeps device_ alive
  ContextDevice& device_;
  Allocation allocation_;
  bool borrowed_ = false;
  bool read_only_ = false;
  Deleter deleter_;
  void* user_ = nullptr;
  std::atomic<uint64_t> version_{0};
};

}  // namespace halftone
