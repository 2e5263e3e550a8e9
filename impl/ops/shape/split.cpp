#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/inline_list.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

using Ranges = InlineList<Range, 3>;

// One node for all parts: it writes their gradients side by side, so none has to be added.
struct SplitBackward final : Node {
  explicit SplitBackward(size_t count) : Node(static_cast<uint32_t>(count)) {}

  Ranges ranges;
  Shape shape;
  ContextDevice* device;
  DType dtype;

  const char* name() const noexcept override { return "split"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor grad = empty(*device, dtype, shape);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Tensor part = sliced(grad, ranges[i]);
      if (grads[i].defined()) {
        copy(grads[i], part);
      } else {
        fill(part, 0.0);
      }
    }
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {}
};

Ranges plan_ranges(const Tensor& input, int dim, std::span<const int64_t> sizes) {
  if (sizes.empty()) fail(Code::kInvalidArgument, "count", "count=0, expected at least one size");
  Ranges ranges(sizes.size());
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > input.size(dim) - start) {
      fail(Code::kShapeMismatch, "sizes", "sizes[%zu]=%lld is outside [0, %lld], the rest of input %s", i,
           static_cast<long long>(sizes[i]), static_cast<long long>(input.size(dim) - start),
           ShapeText(input.shape()).text);
    }
    ranges[i] = {.dim = dim, .start = start, .length = sizes[i]};
    start += sizes[i];
  }
  if (start != input.size(dim)) {
    fail(Code::kShapeMismatch, "sizes", "sizes add up to %lld, expected input.shape[%d]=%lld",
         static_cast<long long>(start), dim, static_cast<long long>(input.size(dim)));
  }
  return ranges;
}

void record_parts(const Tensor& input, Ranges ranges, std::span<const Tensor> parts) {
  const Tensor* const inputs[] = {&input};
  if (is_observed()) {
    for (const Tensor& part : parts) show_result("split", part, inputs);
  }
  if (!should_record(inputs)) return;
  Ref<SplitBackward> node = make_ref<SplitBackward>(parts.size());
  node->ranges = std::move(ranges);
  node->shape = input.shape();
  node->device = &input.device();
  node->dtype = input.dtype();
  connect(node, parts[0], inputs);
  for (size_t i = 1; i < parts.size(); ++i) parts[i].set_gradient_source(node, static_cast<uint32_t>(i));
}

}  // namespace

void split_into(std::span<Tensor> parts, const Tensor& input, int64_t dim, std::span<const int64_t> sizes) {
  if (input.rank() == 0) fail(Code::kInvalidArgument, "input", "input is a scalar, expected at least one dimension");
  Ranges ranges = plan_ranges(input, checked_dim(dim, input.rank(), "dim"), sizes);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = sliced(input, ranges[i]);
  record_parts(input, std::move(ranges), parts);
}

std::vector<Tensor> split(const Tensor& input, int64_t dim, const std::vector<int64_t>& sizes) {
  std::vector<Tensor> parts(sizes.size());
  split_into(parts, input, dim, sizes);
  return parts;
}

}  // namespace halftone::ops
