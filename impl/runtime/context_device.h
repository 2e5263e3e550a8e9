// A device of a context with its allocator. Tensors and streams know their device by it, and need no more of the
// context. Lives as long as the context. Safe from any thread.
#pragma once

#include <memory>

#include "backend/device.h"

namespace halftone {

class CachingAllocator;  // runtime/allocator.h
class Context;           // runtime/context.h

struct ContextDevice {
  // Takes over the device.
  ContextDevice(Context* owner, Device* owned, std::unique_ptr<CachingAllocator> memory) noexcept;
  ~ContextDevice();
  ContextDevice(const ContextDevice&) = delete;
  ContextDevice& operator=(const ContextDevice&) = delete;

  Context* context;
  Device* device;  // owned
  std::unique_ptr<CachingAllocator> allocator;
};

}  // namespace halftone
