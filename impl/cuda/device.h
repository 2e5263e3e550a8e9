// A CUDA device: memory, streams, events and transfers through the CUDA runtime.
#pragma once

#include <cstdint>

#include "backend/device.h"

namespace halftone::cuda {

// The number of devices that halftone can use; 0 where there is no driver.
int32_t device_count() noexcept;

// Returns DEVICE, with the reason, where there is no driver, an old one, no such device, or one without the
// instructions that the kernels need.
Status create_device(int32_t index, Device** out) noexcept;

}  // namespace halftone::cuda
