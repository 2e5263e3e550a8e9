#include "ops/dispatch/op.h"
#include "ops/dispatch/record.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

struct GatherBackward final : Node {
  Op op;
  SavedTensor index;
  int dim;
  Shape part;   // of the input that the index reaches
  Shape shape;  // of the input
  DType dtype;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& places = index.unpack();
    const Tensor sum = full(places.device(), sum_dtype(dtype), part, 0.0);
    join_at(name(), {.dim = dim}, grads[0], places, sum);
    inputs.set(0, in_corner_of_zeros(as_dtype(sum, dtype), shape));
  }
  void release_saved() noexcept override { index.reset(); }
};

Tensor pick_and_record(Op op, const Tensor& input, int dim, const Tensor& places) {
  Tensor result = picked(name_of(op), input, dim, places);
  if (auto* node = record<GatherBackward>(result, {&input}, name_of(op))) {
    node->op = op;
    node->index = SavedTensor(places);
    node->dim = dim;
    node->part = reached(input, dim, places);
    node->shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

}  // namespace

Tensor gather(const Tensor& input, int64_t dim, const Tensor& index) {
  const int along = checked_index_dim(input, dim);
  require_reach(index, input, "input", along);
  return pick_and_record(Op::kGather, input, along, checked_indices(index, "index", input, input.size(along)));
}

Tensor index_select(const Tensor& input, int64_t dim, const Tensor& indices) {
  const int along = checked_index_dim(input, dim);
  require_vector(indices, "indices");
  return pick_and_record(Op::kIndexSelect, input, along, checked_indices(indices, "indices", input, input.size(along)));
}

}  // namespace halftone::ops
