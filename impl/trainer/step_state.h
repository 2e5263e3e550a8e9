// The state that the batches of a step change before its update, or those of an evaluation: the position in the data,
// the random numbers that were drawn, and the buffers of the model, such as running statistics. A step that did not
// become whole is undone by it. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "data/sampler.h"
#include "nn/module.h"
#include "runtime/context.h"

namespace halftone::trainer {

class StepState {
 public:
  StepState(Ref<nn::Module> model, Ref<data::Sampler> sampler, Ref<Context> context);

  // Throws OUT_OF_MEMORY; does not wait for the device.
  void keep();
  // REQUIRES: keep() was called, and the model has the same buffers.
  void restore();

 private:
  const Ref<nn::Module> model_;
  const Ref<data::Sampler> sampler_;
  const Ref<Context> context_;
  int64_t cursor_ = 0;
  uint64_t sequences_ = 0;
  uint64_t microbatches_ = 0;
  std::vector<Tensor> copies_;  // of the buffers, in the model's order
};

}  // namespace halftone::trainer
