// Used in backward of operations: computes the gradient of one input into the leaf's own memory if the input is a leaf
// and allows it, else into a new tensor. The first way saves a tensor and the kernel that would add it to the leaf.
#pragma once

#include <initializer_list>

#include "autograd/graph/node.h"
#include "tensor/factory.h"

namespace halftone {

// The memory that a kernel writing to the leaf must accept: any dtype, to which it converts (f64 only from f64), or the
// gradient's dtype alone.
enum class SinkDType { kAny, kOwn };

// Returns the leaf's memory if the gradient of `input` in `dtype`, computed from `reads`, may be stored there; else an
// undefined tensor. Refuses memory that the kernel would read while it writes.
GradSink usable_sink(const InputGrads& inputs, int input, DType dtype, std::initializer_list<View> reads,
                     SinkDType accepted = SinkDType::kAny);

// `compute(out, store)` writes the gradient to the tensor `out`, or adds it, as `store` says. `reads` are the views
// from which it computes.
template <class Compute>
void store_gradient(InputGrads& inputs, int input, const Shape& shape, DType dtype, ContextDevice& device,
                    std::initializer_list<View> reads, const Compute& compute) {
  const GradSink sink = usable_sink(inputs, input, dtype, reads);
  if (sink.tensor.defined()) {
    compute(sink.tensor, sink.store);
    return inputs.stored(input);
  }
  Tensor grad = empty(device, dtype, shape);
  compute(grad, Store::kWrite);
  inputs.set(input, std::move(grad));
}

}  // namespace halftone
