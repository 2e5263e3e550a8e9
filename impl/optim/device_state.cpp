#include "optim/device_state.h"

#include "tensor/launch.h"

namespace halftone::optim {

void DeviceState::edit(const char* call, const StateEdit& edit) {
  launch(call, device(), &Kernels::optim, &OptimKernels::edit_state, edit, data());
}

}  // namespace halftone::optim
