// scatter_add and index_add: an index with an entry for each element, or one vector for whole slices.
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/index/scatter_operands.h"

namespace halftone::ops {

namespace {

struct ScatterAddBackward final : Node {
  Op op;
  SavedTensor index;
  int dim;
  Shape source_shape;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, grads[0]);
    if (!inputs.needs(1)) return;
    const Tensor places = checked_again(index.unpack(), grads[0], dim);
    inputs.set(1, in_corner_of_zeros(picked(name(), grads[0], dim, places), source_shape));
  }
  void release_saved() noexcept override { index.reset(); }
};

Tensor add_and_record(const ScatterOperands& operands) {
  Tensor result =
      scattered(name_of(operands.op), {.dim = operands.dim}, operands.input, operands.index, operands.source);
  if (auto* node = record<ScatterAddBackward>(result, {&operands.input, &operands.source}, name_of(operands.op))) {
    node->op = operands.op;
    node->index = SavedTensor(operands.index);
    node->dim = operands.dim;
    node->source_shape = operands.source.shape();
  }
  return result;
}

}  // namespace

Tensor scatter_add(const Tensor& given_input, int64_t dim, const Tensor& index, const Tensor& given_source) {
  const auto [input, source] = autocast_operands(Op::kScatterAdd, given_input, given_source);
  return add_and_record(element_operands(Op::kScatterAdd, input, dim, index, source));
}

Tensor index_add(const Tensor& given_input, int64_t dim, const Tensor& index, const Tensor& given_source) {
  const auto [input, source] = autocast_operands(Op::kIndexAdd, given_input, given_source);
  return add_and_record(slice_operands(Op::kIndexAdd, input, dim, index, source));
}

}  // namespace halftone::ops
