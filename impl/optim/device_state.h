// The state of an optimizer's step where the kernels read and write it, so that no step waits for the device. Reading
// and writing it from the CPU wait. Used by one thread at a time.
#pragma once

#include "backend/formula/optimizer_state.h"
#include "tensor/factory.h"

namespace halftone {

struct StateEdit;  // backend/formula/state_edit.h

}  // namespace halftone

namespace halftone::optim {

class DeviceState {
 public:
  // Throws OUT_OF_MEMORY.
  explicit DeviceState(ContextDevice& device, const OptimizerState& initial = {},
                       Category category = Category::kOptimizer)
      : memory_(from_host(device, DType::kU8, {static_cast<int64_t>(sizeof initial)}, &initial, category)) {}

  ContextDevice& device() const { return memory_.device(); }
  // One OptimizerState, in bytes.
  const Tensor& memory() const noexcept { return memory_; }
  OptimizerState* data() const { return static_cast<OptimizerState*>(memory_.data()); }

  OptimizerState read() const {
    OptimizerState state;
    read_to_host(memory_, DType::kU8, &state);
    return state;
  }
  void write(const OptimizerState& state) { write_from_host(memory_, DType::kU8, &state); }
  // Queues an edit. `call` names the caller's function in errors.
  void edit(const char* call, const StateEdit& edit);

 private:
  Tensor memory_;
};

}  // namespace halftone::optim
