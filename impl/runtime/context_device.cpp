#include "runtime/context_device.h"

#include <utility>

#include "runtime/allocator.h"

namespace halftone {

ContextDevice::ContextDevice(Context* owner, Device* owned, std::unique_ptr<CachingAllocator> memory) noexcept
    : context(owner), device(owned), allocator(std::move(memory)) {}

ContextDevice::~ContextDevice() {
  allocator.reset();  // returns its memory to the device, so it goes first
  device->destroy();
}

}  // namespace halftone
