#include "halftone/index.h"

#include "arguments.h"
#include "guard.h"
#include "nn/embedding.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_embedding_options default_embedding_options() {
  return {.struct_size = sizeof(htone_embedding_options), .dtype = HTONE_F32, .padding_index = -1};
}

// A table must be countable in bytes.
Shape checked_table(int64_t num_embeddings, int64_t embedding_dim) {
  const auto require_size = [](int64_t size, const char* name) {
    if (size < 1)
      fail(Code::kInvalidArgument, name, "%s=%lld, expected at least 1", name, static_cast<long long>(size));
  };
  require_size(num_embeddings, "num_embeddings");
  require_size(embedding_dim, "embedding_dim");
  const Shape shape = {num_embeddings, embedding_dim};
  return checked_shape(shape.begin(), 2, num_embeddings > embedding_dim ? "num_embeddings" : "embedding_dim");
}

}  // namespace

htone_status htone_gather(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::gather(x, dim, unwrap(index, "index")));
  });
}

htone_status htone_scatter_add(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                               htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    const Tensor& places = unwrap(index, "index");
    wrap(out, ops::scatter_add(x, dim, places, unwrap(source, "source")));
  });
}

htone_status htone_index_select(htone_tensor* input, int64_t dim, htone_tensor* indices, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::index_select(x, dim, unwrap(indices, "indices")));
  });
}

htone_status htone_masked_fill(htone_tensor* input, htone_tensor* mask, double value, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::masked_fill(x, unwrap(mask, "mask"), value));
  });
}

htone_status htone_embedding(htone_tensor* weight, htone_tensor* indices, int64_t padding_index, htone_tensor** out) {
  return guard([&] {
    const Tensor& table = unwrap(weight, "weight");
    wrap(out, ops::embedding(table, unwrap(indices, "indices"), padding_index));
  });
}

htone_status htone_embedding_options_init(htone_embedding_options* options) {
  return guard([&] { require(options, "options") = default_embedding_options(); });
}

htone_status htone_module_create_embedding(htone_device* device, int64_t num_embeddings, int64_t embedding_dim,
                                           const htone_embedding_options* options, htone_module** out) {
  return guard([&] {
    ContextDevice& target = unwrap(device, "device")->device;
    const Shape table = checked_table(num_embeddings, embedding_dim);
    const htone_embedding_options settings = options_or_default(options, default_embedding_options());
    const DType dtype = checked_weight_dtype(settings.dtype, "options", "options.dtype");
    if (settings.padding_index < -1 || settings.padding_index >= num_embeddings) {
      fail(Code::kInvalidArgument, "options", "options.padding_index=%lld is neither -1 nor in [0, %lld)",
           static_cast<long long>(settings.padding_index), static_cast<long long>(num_embeddings));
    }
    require(out, "out");  // before random streams are taken
    wrap(out, make_ref<nn::Embedding>(target, table, settings.padding_index, dtype));
  });
}
