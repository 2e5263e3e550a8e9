// Facts about the machine: the driver, the devices and what they can do. Safe from any thread.
#pragma once

#include <cstdint>

#include "core/status.h"

namespace halftone::cuda {

struct UsableDevices {
  int32_t count = 0;
  Status status;  // why there is none
};

UsableDevices usable_devices() noexcept;

// Returns DEVICE for a device that is too old for the kernels.
Status check_capability(int32_t index) noexcept;

// True if the device reads this host memory directly.
bool is_pinned(const void* host) noexcept;

}  // namespace halftone::cuda
