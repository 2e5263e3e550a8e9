// The fully connected layer.
#pragma once

#include "nn/module.h"

namespace halftone::nn {

class Linear final : public Module {
 public:
  // Draws weight [out, in] and bias [out] from U(-1/sqrt(in), 1/sqrt(in)), PyTorch's default, each from a stream of its
  // own of the context's seed.
  Linear(ContextDevice& device, int64_t in_features, int64_t out_features, bool bias, DType dtype);

  const char* kind() const noexcept override { return "linear"; }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override;
  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  Ref<Parameter> weight_;
  Ref<Parameter> bias_;  // null where there is none
};

}  // namespace halftone::nn
