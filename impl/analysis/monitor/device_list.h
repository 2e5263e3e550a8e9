// A growing list of plain records that kernels write in device memory, and their copy in host memory, which arrives
// behind the work that was queued before, so that nothing waits. Used by one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/context.h"
#include "runtime/stream_scope.h"
#include "tensor/factory.h"

namespace halftone::analysis {

// Host memory that the device writes directly.
class PinnedMemory {
 public:
  // Throws OUT_OF_MEMORY.
  PinnedMemory(ContextDevice& device, size_t bytes) : context_(Ref<Context>::share(device.context)), device_(device) {
    bytes_ = bytes;
    check(device.device->allocate_pinned(bytes, &data_));
  }
  ~PinnedMemory() {
    if (data_ != nullptr) device_.device->deallocate_pinned(data_, bytes_);
  }
  PinnedMemory(PinnedMemory&& other) noexcept
      : context_(other.context_),
        device_(other.device_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(other.bytes_) {}
  PinnedMemory& operator=(PinnedMemory&&) = delete;

  void* data() const noexcept { return data_; }

 private:
  Ref<Context> context_;  // keeps device_ alive
  ContextDevice& device_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

template <class Record>
class DeviceList {
 public:
  static_assert(std::is_trivially_copyable_v<Record>);

  explicit DeviceList(ContextDevice& device) : device_(device) {}

  size_t size() const noexcept { return size_; }
  // Returns the number of a further record, which begins as Record(). Throws OUT_OF_MEMORY.
  size_t add() {
    if (size_ % kBlock == 0) begin_block(size_ / kBlock);
    return size_++;
  }
  // Removes the records and keeps the memory: to free pinned memory waits for the device.
  void clear() noexcept { size_ = 0; }
  // Its address in device memory.
  Record* at(size_t number) const {
    return static_cast<Record*>(blocks_[number / kBlock].records.data()) + number % kBlock;
  }

  // Queues the copy to host memory, which holds the records once the stream has run it. Throws DEVICE.
  void send() {
    for (size_t first = 0; first < size_; first += kBlock) {
      const size_t bytes = std::min(kBlock, size_ - first) * sizeof(Record);
      check(
          device_.device->copy_to_host(current_stream(device_), blocks_[first / kBlock].copy.data(), at(first), bytes));
    }
  }
  // REQUIRES: the copy has arrived.
  const Record& operator[](size_t number) const {
    return static_cast<const Record*>(blocks_[number / kBlock].copy.data())[number % kBlock];
  }

 private:
  static constexpr size_t kBlock = 64;
  static constexpr size_t kBytes = kBlock * sizeof(Record);
  struct Block {
    Tensor records;  // in bytes
    PinnedMemory copy;
  };

  void begin_block(size_t number) {
    if (number == blocks_.size()) {
      blocks_.push_back({.records = empty(device_, DType::kU8, {static_cast<int64_t>(kBytes)}, Category::kWorkspace),
                         .copy = PinnedMemory(device_, kBytes)});
    }
    const std::vector<Record> initial(kBlock);
    write_from_host(blocks_[number].records, DType::kU8, initial.data());
  }

  ContextDevice& device_;
  size_t size_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace halftone::analysis
