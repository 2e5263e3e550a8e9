// Operations that join a source with an input by index: an entry for each element, or one vector for whole slices.
// Elements are added or replaced. Of several that replace one element the last one stays, and it alone gets the
// gradient.
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/index/scatter_operands.h"

namespace halftone::ops {

namespace {

struct ScatterBackward final : Node {
  Op op;
  SavedTensor index;
  int dim;
  Shape source_shape;  // not used without a source
  bool adds = false;   // else elements are replaced

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (adds) inputs.set(0, grads[0]);
    if (adds && !inputs.needs(1)) return;
    const Tensor places = checked_again(index.unpack(), grads[0], dim);
    if (!adds && inputs.needs(0)) inputs.set(0, filled_at(name(), grads[0], dim, places, 0.0));
    if (op == Op::kScatterScalar || !inputs.needs(1)) return;
    const Tensor part = adds ? picked(name(), grads[0], dim, places) : picked_for_last(name(), grads[0], dim, places);
    inputs.set(1, in_corner_of_zeros(part, source_shape));
  }
  void release_saved() noexcept override { index.reset(); }
};

Tensor join_and_record(ScatterOp join, const ScatterOperands& operands) {
  const Indexed places = {.dim = operands.dim, .op = join};
  Tensor result = scattered(name_of(operands.op), places, operands.input, operands.index, operands.source);
  if (auto* node = record<ScatterBackward>(result, {&operands.input, &operands.source}, name_of(operands.op))) {
    node->op = operands.op;
    node->index = SavedTensor(operands.index);
    node->dim = operands.dim;
    node->source_shape = operands.source.shape();
    node->adds = join == ScatterOp::kAdd;
  }
  return result;
}

}  // namespace

Tensor scatter_add(const Tensor& given_input, int64_t dim, const Tensor& index, const Tensor& given_source) {
  const auto [input, source] = autocast_operands(Op::kScatterAdd, given_input, given_source);
  return join_and_record(ScatterOp::kAdd, element_operands(Op::kScatterAdd, input, dim, index, source));
}

Tensor index_add(const Tensor& given_input, int64_t dim, const Tensor& index, const Tensor& given_source) {
  const auto [input, source] = autocast_operands(Op::kIndexAdd, given_input, given_source);
  return join_and_record(ScatterOp::kAdd, slice_operands(Op::kIndexAdd, input, dim, index, source));
}

Tensor scatter(const Tensor& given_input, int64_t dim, const Tensor& index, const Tensor& given_source) {
  const auto [input, source] = autocast_operands(Op::kScatter, given_input, given_source);
  return join_and_record(ScatterOp::kAssign, element_operands(Op::kScatter, input, dim, index, source));
}

Tensor index_copy(const Tensor& given_input, int64_t dim, const Tensor& index, const Tensor& given_source) {
  const auto [input, source] = autocast_operands(Op::kIndexCopy, given_input, given_source);
  return join_and_record(ScatterOp::kAssign, slice_operands(Op::kIndexCopy, input, dim, index, source));
}

Tensor scatter_scalar(const Tensor& input, int64_t dim, const Tensor& index, double number) {
  const int along = checked_index_dim(input, dim);
  require_arithmetic(input, "input");
  require_reach(index, input, "input", along);
  const Tensor places = checked_indices(index, "index", input, input.size(along));
  Tensor result = filled_at("scatter_scalar", input, along, places, number);
  if (auto* node = record<ScatterBackward>(result, {&input}, "scatter_scalar")) {
    node->op = Op::kScatterScalar;
    node->index = SavedTensor(places);
    node->dim = along;
  }
  return result;
}

}  // namespace halftone::ops
