#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/elementwise/elementwise.h"
#include "ops/index/index.h"
#include "tensor/factory.h"

namespace halftone::ops {

void require_mask(const Tensor& mask, const Tensor& input) {
  if (mask.dtype() != DType::kBool) {
    fail(Code::kDtypeMismatch, "mask", "mask is %s, expected bool", name_of(mask.dtype()));
  }
  if (&mask.device() != &input.device()) fail(Code::kDevice, "mask", "mask is on another device than input");
  if (!broadcast_together(mask.shape(), input.shape())) {
    fail(Code::kShapeMismatch, "mask", "mask %s does not broadcast with input %s", ShapeText(mask.shape()).text,
         ShapeText(input.shape()).text);
  }
}

// where() with a scalar: gradients flow to the elements that are kept.
Tensor masked_fill(const Tensor& input, const Tensor& mask, double value) {
  require_mask(mask, input);
  return where(mask, full(input.device(), input.dtype(), {}, value), input);
}

}  // namespace halftone::ops
