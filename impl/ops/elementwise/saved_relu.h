// The result of a relu as its backward needs it. Under a low-precision recipe the layers behind it keep codes of the
// result, so that the result would stay alive for its signs alone: one bit for each element is kept then, a sixteenth
// of BF16's memory. Belongs to one node.
#pragma once

#include "autograd/saved_tensor.h"

namespace halftone {

class SavedRelu {
 public:
  SavedRelu() = default;
  // REQUIRES: in bits, a contiguous result in f32, f16 or bf16.
  SavedRelu(const char* operation, const Tensor& result, bool in_bits);

  // The gradient of the argument, in `dtype`. Throws as SavedTensor::unpack does.
  Tensor gradient(const char* operation, const Tensor& grad_output, DType dtype) const;
  void reset() noexcept { saved_.reset(); }

 private:
  SavedTensor saved_;  // positive exactly where the argument was, or its bits
  bool in_bits_ = false;
};

}  // namespace halftone
