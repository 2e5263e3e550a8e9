// The state of an optimizer for a file of its own: copies of the moments, and the scalars as texts.
#pragma once

#include "optim/load_options.h"
#include "tensor/state_dict.h"

namespace halftone::optim {

class Optimizer;

// The moments are copied: live ones would change while the texts stay. These functions hold the optimizer, since the
// embedding program's functions for files may release its handle.
Ref<SharedStateDict> copy_state(const Ref<Optimizer>& optimizer);
// Tensors of a file are all read before the first write. Throws FORMAT naming `state_dict` where it does not fit.
void load_copy(const Ref<Optimizer>& optimizer, const SharedStateDict& copy, const LoadOptions& options);

}  // namespace halftone::optim
