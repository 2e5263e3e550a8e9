#include "optim/sgd.h"

#include "tensor/launch.h"

namespace halftone::optim {

void Sgd::update(ContextDevice& device, const MultiTensor<UpdateSlot>& slots, const OptimizerState* state) {
  launch("sgd", device, &Kernels::optim, &OptimKernels::sgd, slots, &settings_, state);
}

void Sgd::add_moments(size_t parameter, UpdateSlot& slot) {
  if (!momentum_.values.empty()) slot.moment1 = momentum_.slot(parameter);
}

}  // namespace halftone::optim
