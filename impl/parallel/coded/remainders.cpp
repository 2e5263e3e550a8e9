#include "parallel/coded/remainders.h"

#include "tensor/factory.h"

namespace halftone::parallel {

Tensor Remainders::find(size_t bucket, Stage stage, ContextDevice& device, int64_t count) {
  if (!are_kept_) return {};
  Tensor& found = tensors_[{bucket, stage}];
  if (!found.defined()) found = full(device, DType::kF32, {count}, 0.0, Category::kCommunication);
  return found;
}

}  // namespace halftone::parallel
