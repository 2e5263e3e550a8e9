// AdamW: torch.optim.AdamW's formulas (backend/formula/adamw.h).
#pragma once

#include "optim/optimizer.h"

namespace halftone::optim {

class AdamW final : public Optimizer {
 public:
  AdamW(std::vector<Ref<Parameter>> parameters, const Precision& precision, const AdamwGroup& settings)
      : Optimizer(std::move(parameters), precision, settings.lr),
        settings_(settings),
        moment1_(zero_moments(precision.moment1_dtype)),
        moment2_(zero_moments(precision.moment2_dtype)) {}

 private:
  void update(ContextDevice& device, const MultiTensor<UpdateSlot>& slots, const OptimizerState* state) override;
  void add_moments(size_t parameter, UpdateSlot& slot) override;

  AdamwGroup settings_;
  Moments moment1_;
  Moments moment2_;
};

}  // namespace halftone::optim
