#include "bench/train/attention_forms.h"

#include <cmath>
#include <limits>

namespace halftone::bench {
namespace {

using htone::call;
using htone::make;
using htone::Module;
using htone::Tensor;

Tensor noise(const htone::Device& device, htone_dtype dtype, const std::vector<int64_t>& shape) {
  return make<Tensor>(htone_randn, device, dtype, static_cast<int32_t>(shape.size()), shape.data());
}

Module linear(const htone::Device& device, htone_dtype dtype, int64_t in, int64_t out) {
  htone_linear_options options = HTONE_LINEAR_OPTIONS_INIT;
  options.dtype = dtype;
  return make<Module>(htone_module_create_linear, device, in, out, &options);
}

// True above the diagonal.
Tensor hidden_scores(const htone::Device& device, int64_t context) {
  const int64_t shape[] = {context, context};
  const auto ones = make<Tensor>(htone_tensor_create_full, device, HTONE_F32, 2, shape, 1.0);
  return make<Tensor>(htone_cast, make<Tensor>(htone_triu, ones, 1), HTONE_BOOL);
}

Module attention(AttentionForm::Kind kind, const AttentionSizes& sizes, htone_dtype dtype,
                 const htone::Device& device) {
  htone_multihead_attention_options options = HTONE_MULTIHEAD_ATTENTION_OPTIONS_INIT;
  options.causal = 1;
  options.dtype = dtype;
  const auto module = make<Module>(htone_module_create_multihead_attention, device, sizes.width, sizes.heads, &options);
  call(htone_module_set_recompute, module, kind == AttentionForm::Kind::kRecomputed);
  return module;
}

}  // namespace

AttentionForm::AttentionForm(Kind kind, const AttentionSizes& sizes, htone_dtype dtype, const htone::Device& device)
    : kind_(kind), sizes_(sizes) {
  if (kind == Kind::kPlain) {
    projections_ = linear(device, dtype, sizes.width, 3 * sizes.width);
    output_ = linear(device, dtype, sizes.width, sizes.width);
    hidden_ = hidden_scores(device, sizes.context);
  } else {
    attention_ = attention(kind, sizes, dtype, device);
  }
  const std::vector<int64_t> shape = {sizes.batch, sizes.context, sizes.width};
  input_ = noise(device, dtype, shape);
  gradient_ = noise(device, dtype, shape);
  call(htone_tensor_set_requires_grad, input_, 1);
}

Tensor AttentionForm::forward() const {
  return kind_ == Kind::kPlain ? plain_forward() : make<Tensor>(htone_module_forward, attention_, input_, nullptr);
}

Tensor AttentionForm::plain_forward() const {
  const auto projected = make<Tensor>(htone_module_forward, projections_, input_, nullptr);
  const int64_t depth = sizes_.width / sizes_.heads;
  const int64_t heads[] = {sizes_.batch, sizes_.context, sizes_.heads, depth};
  std::vector<Tensor> parts;
  for (int64_t part = 0; part < 3; ++part) {
    const auto own = make<Tensor>(htone_slice, projected, 2, part * sizes_.width, (part + 1) * sizes_.width, 1);
    parts.push_back(make<Tensor>(htone_transpose, make<Tensor>(htone_reshape, own, 4, heads), 1, 2));
  }
  const Tensor scores = htone::matmul(parts[0] * (1 / std::sqrt(static_cast<double>(depth))),
                                      make<Tensor>(htone_transpose, parts[1], 2, 3));
  const auto seen = make<Tensor>(htone_masked_fill, scores, hidden_, -std::numeric_limits<double>::infinity());
  const Tensor attended = htone::matmul(make<Tensor>(htone_softmax, seen, 3), parts[2]);
  const int64_t merged[] = {sizes_.batch, sizes_.context, sizes_.width};
  const auto rows = make<Tensor>(htone_reshape, make<Tensor>(htone_transpose, attended, 1, 2), 3, merged);
  return make<Tensor>(htone_module_forward, output_, rows, nullptr);
}

void AttentionForm::forward_and_backward() const { call(htone_tensor_backward, forward(), gradient_, 0); }

}  // namespace halftone::bench
