// Updates of parameters whose masters and moments are offloaded: one window of them after another is brought into
// memory, updated and put back. While one is updated, the next one arrives and the last one leaves.
#pragma once

#include <functional>
#include <vector>

#include "backend/chunks.h"
#include "optim/device_array.h"
#include "optim/owned_parameter.h"

namespace halftone::optim {

// Parameters whose state is brought together.
struct UpdateWindow {
  StateMemory* memory;             // null: their state is on the device
  std::vector<size_t> parameters;  // by number in the optimizer's list
  DeviceArray<Chunk> chunks;
};

// The windows of some of the parameters; none if no state is offloaded. Throws OUT_OF_MEMORY.
std::vector<UpdateWindow> plan_windows(ContextDevice& device, const std::vector<OwnedParameter>& parameters,
                                       const std::vector<size_t>& numbers);

// Calls `update` for the parameters of each window. Throws OUT_OF_MEMORY, IO, DEVICE: then some are not updated.
void update_in_windows(const std::vector<UpdateWindow>& windows, const std::vector<OwnedParameter>& parameters,
                       const std::function<void(const MultiTensor<UpdateSlot>& slots)>& update);

}  // namespace halftone::optim
