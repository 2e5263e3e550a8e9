#include <algorithm>

#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// The part of the input that is copied to the result: `length` indices in each dimension, from `source` in the input
// and from `target` in the result.
struct Overlap {
  Shape source, target, length;
};

Overlap overlap_of(const Shape& shape, const Padding& padding, const Shape& padded) {
  Overlap overlap;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t before = padding.before[i];
    const int64_t first = std::max<int64_t>(0, -before);
    const int64_t end = std::min(shape[i], padded[i] - before);
    overlap.source.push_back(first);
    overlap.target.push_back(std::max<int64_t>(0, before));
    overlap.length.push_back(std::max<int64_t>(0, end - first));
  }
  return overlap;
}

Tensor region(const Tensor& tensor, const Shape& start, const Shape& length) {
  Tensor result = tensor;
  for (int i = 0; i < tensor.rank(); ++i) result = sliced(result, {.dim = i, .start = start[i], .length = length[i]});
  return result;
}

struct PadBackward final : Node {
  Overlap overlap;
  Shape shape;
  DType dtype;

  const char* name() const noexcept override { return "pad"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor kept = region(grads[0], overlap.target, overlap.length);
    if (overlap.length == shape) return inputs.set(0, kept);
    const Tensor grad = full(kept.device(), dtype, shape, 0.0);
    copy(kept, region(grad, overlap.source, overlap.length));
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {}
};

}  // namespace

Shape padded_shape(const Shape& shape, const Padding& padding) {
  Shape padded = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    int64_t reach;  // the end of the input, as an index of the result
    const bool overflows = padding.before[i] == INT64_MIN || padding.after[i] == INT64_MIN ||
                           __builtin_add_overflow(shape[i], padding.before[i], &reach) ||
                           __builtin_add_overflow(reach, padding.after[i], &padded[i]) ||
                           __builtin_add_overflow(shape[i], padding.after[i], &reach);
    if (overflows || padded[i] < 0) {
      fail(Code::kInvalidArgument, "padding", "padding of %lld and %lld leaves no size for input.shape[%d]=%lld",
           static_cast<long long>(padding.before[i]), static_cast<long long>(padding.after[i]), i,
           static_cast<long long>(shape[i]));
    }
  }
  return checked_shape(padded.begin(), padded.rank(), "padding");
}

Tensor pad(const Tensor& input, const Padding& padding, double value) {
  const Shape shape = padded_shape(input.shape(), padding);
  const Overlap overlap = overlap_of(input.shape(), padding, shape);
  Tensor result = full(input.device(), input.dtype(), shape, value);
  copy(region(input, overlap.source, overlap.length), region(result, overlap.target, overlap.length));
  if (auto* node = record<PadBackward>(result, {&input})) {
    node->overlap = overlap;
    node->shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

}  // namespace halftone::ops
