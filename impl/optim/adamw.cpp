#include "optim/adamw.h"

#include "tensor/launch.h"

namespace halftone::optim {

void AdamW::update(ContextDevice& device, const MultiTensor<UpdateSlot>& slots, const OptimizerState* state) {
  launch("adamw", device, &Kernels::optim, &OptimKernels::adamw, slots, &settings_, state);
}

void AdamW::add_moments(size_t parameter, UpdateSlot& slot) {
  slot.moment1 = moment1_.slot(parameter);
  slot.moment2 = moment2_.slot(parameter);
}

}  // namespace halftone::optim
