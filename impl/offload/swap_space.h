// Memory outside of a device, in which the state of training is kept while it is not used.
#pragma once

#include <cstddef>
#include <memory>

#include "core/ref.h"

namespace halftone::offload {

// A part of a swap space. It does one transfer at a time: a new one begins after wait(). One thread at a time.
class SwapSlot {
 public:
  // Waits for a transfer.
  virtual ~SwapSlot() = default;
  // Begin to copy bytes of the slot, from `begin` on, to or from the device's memory, which is not used otherwise, and
  // stays allocated, until wait() has returned. Errors are those of wait().
  virtual void start_read(size_t begin, void* memory, size_t bytes) noexcept = 0;
  virtual void start_write(size_t begin, const void* memory, size_t bytes) noexcept = 0;
  // Work that this thread queues on the device from now on runs after the transfer. Throws its error: IO, DEVICE. The
  // memory that a failed read wrote to has unspecified content; after a failed write the slot has.
  virtual void wait() = 0;
};

class SwapSpace : public RefCounted {
 public:
  // A new slot, of zeros. Throws OUT_OF_MEMORY.
  virtual std::unique_ptr<SwapSlot> make_slot(size_t bytes) = 0;
};

}  // namespace halftone::offload
