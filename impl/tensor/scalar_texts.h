// The scalars of a state as texts, for files that keep only tensors and texts. Every number returns as it was. Pure
// functions, safe from any thread.
#pragma once

#include <string>

#include "tensor/state_dict.h"

namespace halftone {

// Texts with the keys lead + name, in the order of the scalars.
StateTexts texts_of_scalars(const StateDict& state, const std::string& lead);
// Adds the scalars of the texts whose keys begin with `lead`. Throws INVALID_ARGUMENT for a name that is there.
void add_scalars(StateDict& state, const StateTexts& texts, const std::string& lead);

}  // namespace halftone
