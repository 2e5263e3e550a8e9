// A table of vectors, looked up by index.
#pragma once

#include "nn/module.h"

namespace halftone::nn {

class Embedding final : public Module {
 public:
  // Draws weight [count, width] from N(0, 1), PyTorch's default, from one stream of the context's seed; the row
  // `padding_index` is 0. -1 where there is none.
  Embedding(ContextDevice& device, const Shape& weight, int64_t padding_index, DType dtype);

  // Takes indices.
  const char* kind() const noexcept override { return "embedding"; }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override;
  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  int64_t padding_index_;
  Ref<Parameter> weight_;
};

}  // namespace halftone::nn
