// The part of a transformer block that works on each position alone: two linear layers with an activation between them.
#pragma once

#include "nn/composite.h"
#include "nn/transformer/options.h"

namespace halftone::nn {

// Parts: c_fc to the hidden width, c_proj back, and for SwiGLU c_gate, whose silu multiplies c_fc's result.
class FeedForward final : public Composite {
 public:
  // `output_std` is that of c_proj's weight.
  FeedForward(ContextDevice& device, const TransformerOptions& options, double output_std);

  const char* kind() const noexcept override { return "feed_forward"; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override;
  Ref<Module> copied(PartCopies& parts) const override;
  // False where two layers read the input.
  bool reads_once() const noexcept { return form_ != FeedForwardKind::kSwiGlu; }

 private:
  enum Part : size_t { kHidden, kOutput, kGate };

  // The output layer over an activation, in one operation where nothing depends on the activation's result.
  Tensor activated_output(const Tensor& hidden) const;

  FeedForwardKind form_;
};

}  // namespace halftone::nn
