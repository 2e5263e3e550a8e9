// Device memory that tensors share, with the version counters that backward checks. The memory is a block of the
// device's allocator, or the caller's own with a deleter. A block can be released and refilled while tensors refer to
// it: weights that are sharded over ranks are there only while they are used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/foreign_function.h"
#include "core/ref.h"
#include "core/thread.h"
#include "runtime/allocation.h"
#include "runtime/context_device.h"
#include "runtime/stream_uses.h"

namespace halftone {

// The number of writes to one range of a storage, such as one parameter of a flat buffer. The tensors over the range
// share it.
class RangeVersion final : public RefCounted {
 public:
  uint64_t writes() const noexcept { return writes_.load(std::memory_order_relaxed); }
  void bump() noexcept { writes_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> writes_{0};
};

class Storage;

// Brings the content of storages that have no memory: it was released, such as that of weights that ranks share, or it
// was not needed yet.
class StorageRestorer {
 public:
  // Throws STATE outside forward and backward of the sharded module, and the errors of the gather.
  virtual void restore() = 0;

 protected:
  ~StorageRestorer() = default;
};

// Tells the storages that this thread makes until the end of a block from all others. Marks nest: what is made under an
// inner mark is not covered by the outer one.
class StorageMark {
 public:
  bool covers(const Storage& storage) const noexcept;

 private:
  static uint64_t next_number() noexcept;

  const uint64_t number_ = next_number();
  const ThreadGuard<&Thread::storage_mark> current_{number_};
};

// The memory that a storage had when it was lent by its address, as to another library.
class LentMemory final : public RefCounted {
 public:
  explicit LentMemory(ContextDevice& device) noexcept;
  ~LentMemory() override;
  // Takes the block that the storage releases. REQUIRES: it has none.
  void take(Allocation allocation, StreamUses uses) noexcept;

 private:
  Ref<Context> context_;  // keeps device_ alive
  ContextDevice& device_;
  Allocation allocation_;
  StreamUses uses_;
};

class Storage final : public RefCounted {
 public:
  using Deleter = ForeignFunction<void(void* user)>;

  // Throws OUT_OF_MEMORY.
  static Ref<Storage> allocate(ContextDevice& device, size_t bytes, Category category);
  // A storage whose memory was released before it was ever allocated: refill() allocates it.
  static Ref<Storage> without_memory(ContextDevice& device, size_t bytes, Category category);
  // The caller's memory, which the storage never frees itself.
  static Ref<Storage> borrow(ContextDevice& device, void* data);
  // `deleter` (may be null) runs once with `user` when the last reference goes. REQUIRES: a borrowed storage.
  void set_deleter(Deleter deleter, void* user) noexcept;

  // Tells that work queued on `stream`, now and later, uses the memory. The memory is not used again before the work
  // that the stream has at the release. Needless for the default stream. Borrowed memory is its owner's to keep. Throws
  // OUT_OF_MEMORY. REQUIRES: the stream exists until the storage is released. Any thread.
  void record_stream(Stream& stream);

  // Counts as made under no mark from here on. REQUIRES: the storage is not shared yet.
  void leave_mark() noexcept { mark_ = 0; }

  // Cannot be revoked. REQUIRES: the storage is not shared yet. Functions that write in place for a caller check it.
  void forbid_writes() noexcept { read_only_ = true; }
  bool is_read_only() const noexcept { return read_only_; }

  ~Storage() override;

  void* data() const noexcept { return allocation_.data; }
  ContextDevice& device() const noexcept { return device_; }

  // Counts the block in another category. REQUIRES: no other thread uses the storage.
  void set_category(Category category) noexcept;
  Category category() const noexcept { return allocation_.category; }

  // True if a recording allocated the memory for its own work.
  bool is_of(const RecordedStep& step) const noexcept;

  // The bytes of the allocated block; 0 if the memory is the caller's.
  size_t byte_count() const noexcept { return borrowed_ ? 0 : allocation_.size; }

  // Returns what keeps the memory at its address together with a reference of the storage, also if the memory is
  // released meanwhile. Null for borrowed memory. Any thread. Throws OUT_OF_MEMORY.
  Ref<LentMemory> lend();
  // Returns the block to the allocator, behind the work of the recorded streams, or leaves it to those who were lent
  // it. Tensors stay valid, but have no memory. REQUIRES: the memory is not borrowed.
  void release_memory() noexcept;
  // Allocates the block again, with unspecified content. The versions stay: the caller writes what was there before, so
  // that what backward saved is right again. Throws OUT_OF_MEMORY, and STATE while a graph is captured.
  void refill();
  bool is_released() const noexcept { return released_; }
  // While there is a restorer, the content is absent, and callers must call restore() first. Null means that it is
  // present, for every thread that reads null. REQUIRES: the restorer lives until it is replaced.
  void set_restorer(StorageRestorer* restorer) noexcept { restorer_.store(restorer, std::memory_order_release); }
  StorageRestorer* restorer() const noexcept { return restorer_.load(std::memory_order_acquire); }

  // Writes since creation: all, and those through tensors without a RangeVersion, which may touch any range.
  // Tensor::version() says which count for a tensor.
  uint64_t writes() const noexcept { return writes_.load(std::memory_order_relaxed); }
  uint64_t whole_writes() const noexcept { return whole_writes_.load(std::memory_order_relaxed); }
  void bump_range() noexcept { writes_.fetch_add(1, std::memory_order_relaxed); }
  void bump_whole() noexcept {
    whole_writes_.fetch_add(1, std::memory_order_relaxed);
    bump_range();
  }

 private:
  friend class StorageMark;
  Storage(ContextDevice& device, Allocation allocation) noexcept;

  // The members that every operation and every update read or write are first: steps touch many storages, and each
  // would cost another cache line.
  Ref<Context> context_;  // keeps device_ alive
  ContextDevice& device_;
  Allocation allocation_;
  std::atomic<StorageRestorer*> restorer_{nullptr};
  std::atomic<uint64_t> writes_{0};
  std::atomic<uint64_t> whole_writes_{0};
  bool borrowed_ = false;
  bool read_only_ = false;
  bool released_ = false;
  std::atomic<LentMemory*> lent_{nullptr};  // owned
  StreamUses uses_;
  Deleter deleter_;
  void* user_ = nullptr;
  uint64_t mark_ = thread().storage_mark;
};

inline bool StorageMark::covers(const Storage& storage) const noexcept { return storage.mark_ == number_; }

}  // namespace halftone
