// A module's state as a state dict, and back: parameters first, then buffers, each under its dotted name. The caller
// orders loading against every other use of the module.
#pragma once

#include "nn/module.h"
#include "tensor/staged_load.h"

namespace halftone::nn {

// The live tensors: masters and buffers. Weights that an optimizer has split are entries with a reader that joins them
// to FP32. REQUIRES: they stay split while the state is used.
StateDict state_of(const Module& module);

// The tensors of the module's state that a load of `state` does not change, and those of `state` that a load leaves
// out. A parameter of several names needs one of them.
StateDict missing_state(const Module& module, const StateDict& state);
StateDict unexpected_state(const Module& module, const StateDict& state);

// Copies the tensors of the state into the module's of the same name, floats into floats of any dtype, and brings
// 16-bit copies up to date: all of them, or none where one does not fit. Throws SHAPE_MISMATCH or DTYPE_MISMATCH with
// the names of those; where `strict`, INVALID_ARGUMENT for missing and unexpected names; INVALID_ARGUMENT for two names
// of one parameter with other values.
void load_state(const Module& module, const StateDict& state, bool strict);
// Checks as load_state does, and stages the load. `argument` is where the state is from, for messages. REQUIRES: no
// reader of the state reads the module's own memory.
StagedLoad stage_state(const Module& module, const StateDict& state, bool strict = true,
                       const char* argument = "state_dict");

}  // namespace halftone::nn
