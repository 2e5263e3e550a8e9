// Makes a trainer by the options of the C API.
#pragma once

#include "core/ref.h"

struct htone_trainer_options;

namespace halftone::data {
class Batches;  // data/batches.h
}
namespace halftone::nn {
class Module;  // nn/module.h
}
namespace halftone::trainer {
class Trainer;  // trainer/trainer.h
}

namespace halftone::capi {

// The settings of a precision by name, and of the optimizer and the scaler that come with it. Throws INVALID_ARGUMENT
// naming the option, STATE for a model without parameters.
Ref<trainer::Trainer> make_trainer(const Ref<nn::Module>& model, const Ref<data::Batches>& batches,
                                   const htone_trainer_options* options);

}  // namespace halftone::capi
