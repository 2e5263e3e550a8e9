#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// One node for all parts: it writes their gradients side by side, so none has to be added.
struct SplitBackward final : Node {
  explicit SplitBackward(size_t count) : Node(static_cast<uint32_t>(count)) {}

  std::vector<Range> ranges;
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

std::vector<Range> plan_ranges(const Tensor& input, int dim, const std::vector<int64_t>& sizes) {
  if (sizes.empty()) fail(Code::kInvalidArgument, "count", "count=0, expected at least one size");
  std::vector<Range> ranges;
  ranges.reserve(sizes.size());
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > input.size(dim) - start) {
      fail(Code::kShapeMismatch, "sizes", "sizes[%zu]=%lld is outside [0, %lld], the rest of input %s", i,
           static_cast<long long>(sizes[i]), static_cast<long long>(input.size(dim) - start),
           ShapeText(input.shape()).text);
    }
    ranges.push_back({.dim = dim, .start = start, .length = sizes[i]});
    start += sizes[i];
  }
  if (start != input.size(dim)) {
    fail(Code::kShapeMismatch, "sizes", "sizes add up to %lld, expected input.shape[%d]=%lld",
         static_cast<long long>(start), dim, static_cast<long long>(input.size(dim)));
  }
  return ranges;
}

void record_parts(const Tensor& input, const std::vector<Range>& ranges, const std::vector<Tensor>& parts) {
  const Tensor* const inputs[] = {&input};
  if (!should_record(inputs)) return;
  Ref<SplitBackward> node = make_ref<SplitBackward>(parts.size());
  node->ranges = ranges;
  node->shape = input.shape();
  node->device = &input.device();
  node->dtype = input.dtype();
  connect(node, parts[0], inputs);
  for (size_t i = 1; i < parts.size(); ++i) parts[i].set_gradient_source(node, static_cast<uint32_t>(i));
}

}  // namespace

std::vector<Tensor> split(const Tensor& input, int64_t dim, const std::vector<int64_t>& sizes) {
  if (input.rank() == 0) fail(Code::kInvalidArgument, "input", "input is a scalar, expected at least one dimension");
  const std::vector<Range> ranges = plan_ranges(input, checked_dim(dim, input.rank(), "dim"), sizes);
  std::vector<Tensor> parts;
  parts.reserve(ranges.size());
  for (const Range& range : ranges) parts.push_back(sliced(input, range));
  record_parts(input, ranges, parts);
  return parts;
}

}  // namespace halftone::ops
