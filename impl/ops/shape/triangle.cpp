#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

Tensor apply_triangle(const Tensor& input, Triangle kept, int64_t diagonal) {
  const Tensor source = contiguous(input);
  Tensor result = empty_like(source);
  launch(kept == Triangle::kLower ? "tril" : "triu", source.device(), &Kernels::index, &IndexKernels::triangle, kept,
         diagonal, source.view(), result.view());
  return result;
}

struct TriangleBackward final : Node {
  Triangle kept;
  int64_t diagonal;

  const char* name() const noexcept override { return kept == Triangle::kLower ? "tril" : "triu"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, apply_triangle(grads[0], kept, diagonal));
  }
  void release_saved() noexcept override {}
};

Tensor triangle(const Tensor& input, Triangle kept, int64_t diagonal) {
  if (input.rank() < 2) {
    fail(Code::kShapeMismatch, "input", "input %s has %d dimensions, expected at least 2",
         ShapeText(input.shape()).text, input.rank());
  }
  Tensor result = apply_triangle(input, kept, diagonal);
  if (auto* node = record<TriangleBackward>(result, {&input}, kept == Triangle::kLower ? "tril" : "triu")) {
    node->kept = kept;
    node->diagonal = diagonal;
  }
  return result;
}

}  // namespace

Tensor tril(const Tensor& input, int64_t diagonal) { return triangle(input, Triangle::kLower, diagonal); }
Tensor triu(const Tensor& input, int64_t diagonal) { return triangle(input, Triangle::kUpper, diagonal); }

}  // namespace halftone::ops
