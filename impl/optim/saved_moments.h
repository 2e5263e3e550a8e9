// Moments of a state that were saved in other codes than a load needs: by a version before the codes of
// formula/block_code.h, or by an optimizer that kept in codes what this one keeps in FP32. Used by optim/state.cpp.
#pragma once

#include "tensor/state_dict.h"

namespace halftone::optim {

// Adds the version of the codes to a state with moments in codes.
void add_code_version(StateDict& state);

// The entries of `state` that `targets` name, ready to be copied to them: codes of the first version become the
// nearest of this one's, and codes become FP32 numbers for a target in FP32. Other entries stay as they are. Throws
// FORMAT for codes of another version, IO, OUT_OF_MEMORY.
StateDict in_codes_of(const StateDict& targets, const StateDict& state);

}  // namespace halftone::optim
