// SGD with momentum and Nesterov's form: torch.optim.SGD's formulas (backend/formula/sgd.h).
#pragma once

#include "optim/optimizer.h"

namespace halftone::optim {

class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<Ref<Parameter>> parameters, const Precision& precision, const SgdGroup& settings)
      : Optimizer(std::move(parameters), precision, settings.lr), settings_(settings) {
    if (settings_.momentum != 0.0) momentum_ = zero_moments(precision.moment1_dtype);
  }

 private:
  void update(ContextDevice& device, const MultiTensor<UpdateSlot>& slots, const OptimizerState* state) override;
  void add_moments(size_t parameter, UpdateSlot& slot) override;

  SgdGroup settings_;
  Moments momentum_;  // empty without momentum
};

}  // namespace halftone::optim
