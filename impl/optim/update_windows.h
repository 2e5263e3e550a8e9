// Updates of parameters in windows, one after another. Masters and moments that are offloaded are brought into memory,
// updated and put back: while one window is updated, the next one arrives and the last one leaves. Weights that ranks
// share are sent to the others while the next window is updated.
#pragma once

#include <functional>
#include <vector>

#include "autograd/placement/state_memory.h"
#include "backend/chunks.h"
#include "backend/kernels/optim.h"
#include "optim/device_array.h"
#include "optim/owned_parameter.h"

namespace halftone::optim {

// Parameters whose state is brought together, and whose weights travel together.
struct UpdateWindow {
  StateMemory* memory = nullptr;        // null: their state is on the device
  size_t set = 0;                       // ShardRanks::set_of
  std::vector<size_t> parameters = {};  // by number in the optimizer's list
  DeviceArray<Chunk> chunks = {};
  DeviceArray<UpdateSlot> slots = {};  // of state on the device
};

// The windows of some of the parameters, by set; none if all are of one set, and no state is offloaded. Throws
// OUT_OF_MEMORY.
std::vector<UpdateWindow> plan_windows(ContextDevice& device, const std::vector<OwnedParameter>& parameters,
                                       const std::vector<size_t>& numbers);

// Calls `update` for the parameters of each window, and `updated` when all windows of a set have their state at its
// place: with the numbers of its parameters. Throws OUT_OF_MEMORY, IO, DEVICE: then some are not updated.
struct WindowCalls {
  std::function<void(const MultiTensor<UpdateSlot>& slots)> update;
  std::function<void(size_t set, const std::vector<size_t>& parameters)> updated;
};
void update_in_windows(const std::vector<UpdateWindow>& windows, const std::vector<OwnedParameter>& parameters,
                       const WindowCalls& calls);

}  // namespace halftone::optim
