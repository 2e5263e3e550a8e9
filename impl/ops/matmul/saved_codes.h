// Codes with scales that are kept for backward, as SavedTensor keeps tensors. Belongs to one node.
#pragma once

#include <utility>

#include "autograd/saved_tensor.h"
#include "ops/scaled/scaled.h"

namespace halftone {

class SavedCodes {
 public:
  SavedCodes() = default;
  explicit SavedCodes(const ops::Scaled& scaled)
      : form_(scaled), codes_(scaled.codes), scales_(scaled.scales), has_tensor_scale_(scaled.tensor_scale.defined()) {
    if (has_tensor_scale_) tensor_scale_ = SavedTensor(scaled.tensor_scale);
    for (const Tensor* kept : {&scaled.codes, &scaled.scales, &scaled.tensor_scale}) {
      if (kept->defined()) kept->storage()->set_category(Category::kActivations);
    }
    form_.codes = form_.scales = form_.tensor_scale = Tensor();
  }

  // Throws as SavedTensor::unpack does.
  ops::Scaled unpack() const {
    ops::Scaled scaled = form_;
    scaled.codes = codes_.unpack();
    scaled.scales = scales_.unpack();
    if (has_tensor_scale_) scaled.tensor_scale = tensor_scale_.unpack();
    return scaled;
  }

 private:
  ops::Scaled form_;  // without its tensors
  SavedTensor codes_;
  SavedTensor scales_;
  SavedTensor tensor_scale_;
  bool has_tensor_scale_ = false;
};

}  // namespace halftone
