#include "ops/scaled/rotate.h"

#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

Tensor rotated(const Tensor& x, PhiloxKey key) {
  Tensor result = empty(x.device(), x.dtype(), x.shape(), Category::kWorkspace);
  launch("hadamard_transform", x.device(), &Kernels::scaled, &ScaledKernels::rotate_blocks, x.view(), key,
         result.view());
  return result;
}

}  // namespace halftone::ops
