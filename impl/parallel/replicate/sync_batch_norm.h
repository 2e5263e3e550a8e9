// Batch normalisation over the batches of all ranks, which may have different sizes: as if one rank had the whole
// batch, forward and backward. One exchange of statistics in each forward of a layer, and one in each backward.
#pragma once

#include "nn/module.h"
#include "parallel/mesh/exchange.h"

namespace halftone::parallel {

// Makes every batch_norm layer of the module use the statistics of all ranks in training. Every rank of the group calls
// it for the same model; the layers keep `owner`, which keeps the group; without one the caller does. Throws STATE for
// a module without such layers. A group apart from Replicate's lets the exchanges of backward overtake the gradients.
void synchronize_batch_norm(const nn::Module& module, ProcessGroup& group, Ref<RefCounted> owner = nullptr);

}  // namespace halftone::parallel
