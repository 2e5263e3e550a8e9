#include "ops/attention/layout.h"

#include <utility>

#include "tensor/factory.h"

namespace halftone {

Tensor empty_in_order_of(const Tensor& like, const Shape& shape) {
  const int heads = shape.rank() - 3;
  if (heads < 0 || like.strides()[heads] >= like.strides()[heads + 1]) return empty(like.device(), like.dtype(), shape);
  Shape swapped = shape;
  std::swap(swapped[heads], swapped[heads + 1]);
  const Tensor memory = empty(like.device(), like.dtype(), swapped);
  Shape strides = memory.strides();
  std::swap(strides[heads], strides[heads + 1]);
  return memory.as_strided(shape, strides, memory.offset());
}

}  // namespace halftone
