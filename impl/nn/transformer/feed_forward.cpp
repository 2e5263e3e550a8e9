#include "nn/transformer/feed_forward.h"

#include <functional>

#include "nn/linear.h"
#include "nn/part_copies.h"
#include "ops/dispatch/autocast.h"
#include "ops/ops.h"

namespace halftone::nn {

namespace {

// One operation computes the activation in its argument's dtype, and the product in that of its own class.
bool policy_allows_fusing() {
  if (!under_autocast()) return true;
  const AutocastPolicy& policy = *scope().autocast;
  return policy.get(Op::kGelu) == AutocastClass::kAsIs && policy.get(Op::kActivationLinear) == policy.get(Op::kLinear);
}

}  // namespace

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
  const Tensor hidden = part(kHidden).run(inputs[0]);
  if (form_ == FeedForwardKind::kSwiGlu) {
    outputs[0] = part(kOutput).run(ops::mul(ops::silu(part(kGate).run(inputs[0])), hidden));
  } else {
    outputs[0] = activated_output(hidden);
  }
}

Tensor FeedForward::activated_output(const Tensor& hidden) const {
  const bool is_erf = form_ == FeedForwardKind::kGelu;
  const auto& layer = static_cast<const Linear&>(part(kOutput));
  if (!layer.may_be_fused() || !policy_allows_fusing()) {
    return layer.run(ops::gelu(hidden, is_erf ? ops::GeluForm::kErf : ops::GeluForm::kTanh));
  }
  Tensor output;
  const auto compute = [&] {
    output = layer.forward_activated(hidden, is_erf ? GemmActivation::kGeluErf : GemmActivation::kGeluTanh);
  };
  layer.run_fused(std::ref(compute));
  return output;
}

Ref<Module> FeedForward::copied(PartCopies& parts) const {
  Ref<FeedForward> made = make_ref<FeedForward>(*this);
  own_parts(*made, parts);
  return made;
}

}  // namespace halftone::nn
