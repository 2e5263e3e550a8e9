// Recordings of a device's work as graphs of CUDA.
#pragma once

#include "backend/device.h"
#include "cuda/base/stream.h"

namespace halftone::cuda {

Status begin_recording(const DeviceState& device, Stream& stream) noexcept;
// As Device::end_recording.
Status end_recording(const DeviceState& device, Stream& stream, RecordedWork** out) noexcept;

}  // namespace halftone::cuda
