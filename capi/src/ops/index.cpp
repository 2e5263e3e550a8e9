#include "halftone/index.h"

#include "base/call.h"
#include "nn/embedding.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "ops/index/index.h"
#include "ops/select/select.h"
#include "runtime/handles.h"
#include "tensor/handles.h"
#include "tensor/weight_dtype.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// The sizes of a table, which must be countable in bytes.
Shape table_shape(int64_t num_embeddings, int64_t embedding_dim) {
  const Shape shape = {positive(num_embeddings, "num_embeddings"), positive(embedding_dim, "embedding_dim")};
  return checked_shape(shape.begin(), 2, num_embeddings > embedding_dim ? "num_embeddings" : "embedding_dim");
}

Ref<nn::Embedding> make_embedding(ContextDevice& device, const Shape& table, const htone_embedding_options& options) {
  if (options.padding_index < -1 || options.padding_index >= table[0]) {
    fail(Code::kInvalidArgument, "options", "options.padding_index=%lld is neither -1 nor in [0, %lld)",
         static_cast<long long>(options.padding_index), static_cast<long long>(table[0]));
  }
  return make_ref<nn::Embedding>(device, table, options.padding_index, static_cast<DType>(options.dtype));
}

htone_embedding_options embedding_options(const htone_embedding_options* options) {
  const htone_embedding_options given =
      options_or_default(options, htone_embedding_options(HTONE_EMBEDDING_OPTIONS_INIT));
  checked_weight_dtype(given.dtype, "options", "options.dtype");
  return given;
}

}  // namespace

htone_status htone_gather(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor** out) {
  return Pure(ops::gather, input, dim, index, out);
}

htone_status htone_scatter_add(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                               htone_tensor** out) {
  return Pure(ops::scatter_add, input, dim, index, source, out);
}

htone_status htone_index_select(htone_tensor* input, int64_t dim, htone_tensor* indices, htone_tensor** out) {
  return Pure(ops::index_select, input, dim, indices, out);
}

htone_status htone_index(htone_tensor* input, size_t index_count, htone_tensor* const* indices, htone_tensor** out) {
  return Pure(ops::index, input, several(index_count, indices), out);
}

htone_status htone_masked_select(htone_tensor* input, htone_tensor* mask, htone_tensor** out) {
  return Pure(ops::masked_select, input, mask, out);
}

htone_status htone_masked_fill(htone_tensor* input, htone_tensor* mask, double value, htone_tensor** out) {
  return Pure(ops::masked_fill, input, mask, value, out);
}

htone_status htone_embedding(htone_tensor* weight, htone_tensor* indices, int64_t padding_index, htone_tensor** out) {
  return Pure(ops::embedding, weight, indices, padding_index, out);
}

htone_status htone_module_create_embedding(htone_device* device, int64_t num_embeddings, int64_t embedding_dim,
                                           const htone_embedding_options* options, htone_module** out) {
  return Call(make_embedding, device, as<table_shape>(num_embeddings, embedding_dim), as<embedding_options>(options),
              out);
}
