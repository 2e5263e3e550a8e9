#include "nn/embedding.h"

#include "nn/init.h"
#include "nn/part_copies.h"
#include "ops/index/index.h"
#include "ops/shape/stride.h"
#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone::nn {

Embedding::Embedding(ContextDevice& device, const Shape& weight, int64_t padding_index, DType dtype)
    : padding_index_(padding_index) {
  const PhiloxKey key = device.context->next_key();
  weight_ = filled_parameter(device, "weight", dtype, weight, [key, padding_index](const Tensor& weights) {
    fill_normal(weights, key, 0.0, 1.0);
    if (padding_index >= 0) fill(sliced(weights, {.dim = 0, .start = padding_index, .length = 1}), 0.0);
  });
}

Tensor Embedding::forward(const Tensor& input) const { return ops::embedding(weight_->leaf(), input, padding_index_); }

void Embedding::append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  out.push_back({prefix + "weight", weight_});
}

Ref<Module> Embedding::copied(PartCopies& parts) const {
  Ref<Embedding> made = make_ref<Embedding>(*this);
  made->weight_ = parts.parameter(weight_);
  return made;
}

}  // namespace halftone::nn
