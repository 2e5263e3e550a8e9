// A module's state as a state dict, and back: parameters first, then buffers, each under its dotted name. The caller
// orders loading against every other use of the module.
#pragma once

#include "nn/module.h"
#include "tensor/staged_load.h"

namespace halftone::nn {

// The live tensors: masters and buffers. Weights that an optimizer has split are entries with a reader that joins them
// to FP32. REQUIRES: they stay split while the state is used.
StateDict state_of(const Module& module);

// The tensors of `state` whose names `other` lacks, in the same order.
StateDict difference(const StateDict& state, const StateDict& other);

// Copies the tensors of the state into the module's of the same name, floats into floats of any dtype, and brings
// 16-bit copies up to date: all of them, or none where one does not fit. Throws SHAPE_MISMATCH or DTYPE_MISMATCH with
// the names of those; where `strict`, INVALID_ARGUMENT for missing and unexpected names.
void load_state(const Module& module, const StateDict& state, bool strict);
// Checks as load_state does, and stages the load. REQUIRES: no reader of the state reads the module's own memory.
StagedLoad stage_state(const Module& module, const StateDict& state, bool strict = true);

}  // namespace halftone::nn
