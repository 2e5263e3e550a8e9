#include "nn/transformer/cache.h"

#include "autograd/leaf/accumulate_grad.h"
#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

constexpr int kCacheRank = 6;

int positions_dim(const Tensor& cache) { return cache.rank() - 2; }

void require_free(const Tensor& cache) {
  require_unrecorded({&cache});
  require_writable(cache, "cache");
}

}  // namespace

void require_unrecorded(std::initializer_list<const Tensor*> tensors) {
  if (!should_record(std::span(tensors.begin(), tensors.size()))) return;
  fail(Code::kState, "cache",
       "cache is for inference, but this forward is recorded for backward: call it in a scope of htone_no_grad_begin");
}

void require_cache(const Tensor& cache, int64_t layers, int64_t time) {
  require_free(cache);
  if (cache.rank() == kCacheRank && cache.size(0) == layers && cache.size(positions_dim(cache)) >= time) return;
  fail(Code::kShapeMismatch, "cache",
       "cache %s, expected [layers=%lld, 2, batch, kv_heads, positions, depth] with at least %lld positions",
       ShapeText(cache.shape()).text, static_cast<long long>(layers), static_cast<long long>(time));
}

void require_layer_cache(const Tensor& cache, const LayerCacheSizes& sizes) {
  require_float(cache, "cache");
  const Shape& shape = cache.shape();
  const bool fits = shape.rank() == kCacheRank - 1 && shape[0] == 2 && shape[1] == sizes.batch &&
                    shape[2] == sizes.kv_heads && shape[3] >= sizes.time && shape[4] == sizes.depth;
  if (!fits) {
    fail(Code::kShapeMismatch, "cache",
         "cache %s of a layer, expected [2, batch=%lld, kv_heads=%lld, positions, depth=%lld] with at least %lld "
         "positions",
         ShapeText(shape).text, static_cast<long long>(sizes.batch), static_cast<long long>(sizes.kv_heads),
         static_cast<long long>(sizes.depth), static_cast<long long>(sizes.time));
  }
  require_free(cache);
}

int64_t past_of(const Tensor& cache, int64_t time) { return cache.size(positions_dim(cache)) - time; }

Tensor cache_part(const Tensor& cache, int64_t index) {
  return ops::squeeze(ops::slice(cache, 0, index, index + 1, 1), {0});
}

Tensor cached(const Tensor& newest, const Tensor& part) {
  const int dim = positions_dim(part);
  const int64_t end = part.size(dim);
  copy(newest, ops::slice(part, dim, end - newest.size(dim), end, 1));
  return part.dtype() == newest.dtype() ? part : converted(part, newest.dtype());
}

}  // namespace halftone::nn
