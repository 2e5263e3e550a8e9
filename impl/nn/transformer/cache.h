// The keys and values of tokens that a transformer has run, kept so that later tokens attend to them without running
// them again: [layers, 2, batch, kv_heads, positions, depth], and [2, batch, kv_heads, positions, depth] for one layer.
// A forward of `time` tokens fills the last `time` positions; those before them were filled by earlier forwards.
// capi/include/halftone/cache.h documents it. One thread.
#pragma once

#include <initializer_list>

#include "tensor/tensor.h"

namespace halftone::nn {

struct LayerCacheSizes {
  int64_t batch;
  int64_t kv_heads;
  int64_t time;  // of the tokens that a forward adds
  int64_t depth;
};

// Throws STATE naming "cache" where this thread records and any tensor requires a gradient: a write in place is not
// recorded, so no gradient would flow through the cache.
void require_unrecorded(std::initializer_list<const Tensor*> tensors);

// Throws SHAPE_MISMATCH naming "cache" unless it has so many layers, and at least `time` positions; STATE where it
// cannot be written.
void require_cache(const Tensor& cache, int64_t layers, int64_t time);
// Likewise for the cache of one layer, whose dtype must be a float.
void require_layer_cache(const Tensor& cache, const LayerCacheSizes& sizes);

// The number of positions that are filled already. For a cache of all layers and for that of one.
int64_t past_of(const Tensor& cache, int64_t time);

// A view: the cache of layer `index`, or the keys (0) or values (1) of one layer's cache.
Tensor cache_part(const Tensor& cache, int64_t index);

// Writes keys or values [batch, kv_heads, time, depth] to the last positions of their part. Returns all of the part in
// their dtype, which is a copy if the cache has another.
Tensor cached(const Tensor& newest, const Tensor& part);

}  // namespace halftone::nn
