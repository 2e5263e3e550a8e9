// The way of sending averages that the options of data-parallel training ask for. Used by htone_ddp_create.
#pragma once

#include "halftone/ddp.h"
#include "parallel/rounds/reduction.h"

namespace halftone::capi {

// Null for averages in the dtype of the gradients. Throws INVALID_ARGUMENT.
Ref<parallel::ReductionHook> hook_of(const htone_ddp_options& options);

}  // namespace halftone::capi
