#include "nn/transformer/feed_forward.h"

#include "nn/linear.h"
#include "nn/part_copies.h"
#include "ops/ops.h"

namespace halftone::nn {

FeedForward::FeedForward(ContextDevice& device, const TransformerOptions& options, double output_std)
    : form_(options.feed_forward) {
  const AttentionModuleOptions& shared = options.attention;
  const auto linear = [&](int64_t in, int64_t out, double std) {
    return Linear::normal(device, in, out, shared.bias, shared.dtype, std);
  };
  add_part("c_fc", linear(shared.width, options.hidden, kWeightStd));
  add_part("c_proj", linear(options.hidden, shared.width, output_std));
  if (form_ == FeedForwardKind::kSwiGlu) add_part("c_gate", linear(shared.width, options.hidden, kWeightStd));
}

void FeedForward::forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  Tensor hidden = part(kHidden).run(inputs[0]);
  switch (form_) {
    case FeedForwardKind::kGelu:
      hidden = ops::gelu(hidden, ops::GeluForm::kErf);
      break;
    case FeedForwardKind::kGeluTanh:
      hidden = ops::gelu(hidden, ops::GeluForm::kTanh);
      break;
    case FeedForwardKind::kSwiGlu:
      hidden = ops::mul(ops::silu(part(kGate).run(inputs[0])), hidden);
      break;
  }
  outputs[0] = part(kOutput).run(hidden);
}

Ref<Module> FeedForward::copied(PartCopies& parts) const {
  Ref<FeedForward> made = make_ref<FeedForward>(*this);
  own_parts(*made, parts);
  return made;
}

}  // namespace halftone::nn
