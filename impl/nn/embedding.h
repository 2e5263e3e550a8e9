// A table of vectors, looked up by index.
#pragma once

#include <utility>

#include "nn/layer.h"

namespace halftone::nn {

class Embedding final : public Layer {
 public:
  // Draws weight [count, width] from N(0, 1), PyTorch's default, from one stream of the context's seed; the row
  // `padding_index` is 0. -1 where there is none.
  Embedding(ContextDevice& device, const Shape& weight, int64_t padding_index, DType dtype);

  // Uses a parameter that other modules may hold as well. REQUIRES: weight [count, width].
  explicit Embedding(Ref<Parameter> weight) : padding_index_(-1), weight_(std::move(weight)) {}

  // Takes indices.
  const char* kind() const noexcept override { return "embedding"; }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override;
  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

  const Ref<Parameter>& weight() const noexcept { return weight_; }

 private:
  Ref<Parameter>* parameter_place(std::string_view name) noexcept override {
    return name == "weight" ? &weight_ : nullptr;
  }

  int64_t padding_index_;
  Ref<Parameter> weight_;
};

}  // namespace halftone::nn
