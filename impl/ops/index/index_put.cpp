// index and index_put: a list of indices, one for each of the first dimensions.
#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// An input seen as rows: the indexed dimensions are one, and the others are one.
struct Rows {
  Tensor index;     // a vector of rows
  Shape shape;      // of the result: of the indices together, then the other dimensions of the input
  int64_t count;    // of the rows
  int64_t columns;  // of elements of a row

  Tensor seen(const Tensor& tensor) const { return reshaped(tensor, {count, columns}); }
  Shape picked_shape() const { return {index.numel(), columns}; }
};

constexpr const char* kEntries[kMaxRank] = {"indices[0]", "indices[1]", "indices[2]", "indices[3]",
                                            "indices[4]", "indices[5]", "indices[6]", "indices[7]"};

void require_list(const Tensor& input, const std::vector<Tensor>& indices) {
  const int count = static_cast<int>(indices.size());
  if (count >= 1 && count <= input.rank()) return;
  fail(Code::kInvalidArgument, "index_count", "index_count=%d, expected at least 1 and at most %d, for input %s", count,
       input.rank(), ShapeText(input.shape()).text);
}

Shape shape_together(const std::vector<Tensor>& indices) {
  Shape shape = indices[0].shape();
  for (size_t i = 1; i < indices.size(); ++i) {
    if (!broadcast_together(shape, indices[i].shape())) {
      fail(Code::kShapeMismatch, "indices", "indices[%zu] %s does not broadcast with %s, the shape of those before it",
           i, ShapeText(indices[i].shape()).text, ShapeText(shape).text);
    }
    shape = broadcast_shapes(shape, indices[i].shape());
  }
  return shape;
}

// The row-major place of the indices in the indexed dimensions.
Tensor joined_index(const Tensor& input, const std::vector<Tensor>& indices, const Shape& shape) {
  Tensor places;
  for (int i = 0; i < static_cast<int>(indices.size()); ++i) {
    const Tensor next = checked_indices(indices[static_cast<size_t>(i)], "indices", input, input.size(i), kEntries[i]);
    if (i == 0) {
      places = next;
      continue;
    }
    const Tensor size = full(input.device(), DType::kI64, {}, static_cast<double>(input.size(i)));
    const Tensor before = apply_binary("index", BinaryOp::kMultiply, places, size, DType::kI64);
    places = apply_binary("index", BinaryOp::kAdd, before, next, DType::kI64);
  }
  return reshaped(contiguous(expanded(places, shape)), {numel(shape)});
}

Rows rows_of(const Tensor& input, const std::vector<Tensor>& indices) {
  require_list(input, indices);
  const int indexed = static_cast<int>(indices.size());
  Rows rows = {.index = {}, .shape = shape_together(indices), .count = 1, .columns = 1};
  if (rows.shape.rank() + input.rank() - indexed > kMaxRank) {
    fail(Code::kShapeMismatch, "indices", "indices of shape %s and input %s give more than %d dimensions",
         ShapeText(rows.shape).text, ShapeText(input.shape()).text, kMaxRank);
  }
  rows.index = joined_index(input, indices, rows.shape);
  for (int i = 0; i < input.rank(); ++i) (i < indexed ? rows.count : rows.columns) *= input.size(i);
  for (int i = indexed; i < input.rank(); ++i) rows.shape.push_back(input.size(i));
  rows.shape = checked_shape(rows.shape.begin(), rows.shape.rank(), "indices");
  return rows;
}

struct IndexBackward final : Node {
  Rows rows;
  SavedTensor index;
  Shape shape;
  DType dtype;

  const char* name() const noexcept override { return "index"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor sum = full(grads[0].device(), sum_dtype(dtype), {rows.count, rows.columns}, 0.0);
    const Tensor& places = index.unpack();
    join_at("index", {.dim = 0}, reshaped(grads[0], {places.numel(), rows.columns}), places, sum);
    inputs.set(0, reshaped(as_dtype(sum, dtype), shape));
  }
  void release_saved() noexcept override { index.reset(); }
};

struct IndexPutBackward final : Node {
  Rows rows;
  SavedTensor index;
  Shape values_shape;
  DType dtype;
  bool accumulates;

  const char* name() const noexcept override { return "index_put"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor grad = rows.seen(grads[0]);
    const Tensor places = checked_indices(index.unpack(), "indices", grad, rows.count);
    if (inputs.needs(0)) inputs.set(0, accumulates ? grads[0] : without(grad, places, grads[0].shape()));
    if (!inputs.needs(1)) return;
    const Tensor part = accumulates ? picked(name(), grad, 0, places) : picked_for_last(name(), grad, 0, places);
    inputs.set(1, reduce_to(reshaped(part, rows.shape), values_shape, dtype));
  }
  void release_saved() noexcept override { index.reset(); }

 private:
  Tensor without(const Tensor& grad, const Tensor& places, const Shape& shape) const {
    return reshaped(filled_at(name(), grad, 0, places, 0.0), shape);
  }
};

// The rows without the index, which a node saves apart.
Rows geometry_of(Rows rows) {
  rows.index = {};
  return rows;
}

}  // namespace

Tensor index(const Tensor& input, const std::vector<Tensor>& indices) {
  const Rows rows = rows_of(input, indices);
  const Tensor picks = picked("index", rows.seen(input), 0, rows.index);
  Tensor result = reshaped(picks, rows.shape);
  if (auto* node = record<IndexBackward>(result, {&input})) {
    node->rows = geometry_of(rows);
    node->index = SavedTensor(rows.index);
    node->shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

Tensor index_put(const Tensor& given_input, const std::vector<Tensor>& indices, const Tensor& given_values,
                 bool accumulate) {
  const auto [input, values] = autocast_operands(Op::kIndexPut, given_input, given_values);
  require_arithmetic(input, "input");
  require_same_dtype(input, "input", values, "values");
  require_same_device(input, "input", values, "values");
  const Rows rows = rows_of(input, indices);
  const bool fits =
      broadcast_together(values.shape(), rows.shape) && broadcast_shapes(values.shape(), rows.shape) == rows.shape;
  if (!fits) {
    fail(Code::kShapeMismatch, "values", "values %s does not broadcast to %s, the shape of the indexed elements",
         ShapeText(values.shape()).text, ShapeText(rows.shape).text);
  }
  const Indexed places = {.dim = 0, .op = accumulate ? ScatterOp::kAdd : ScatterOp::kAssign};
  const Tensor source = reshaped(expanded(values, rows.shape), rows.picked_shape());
  Tensor result = reshaped(scattered("index_put", places, rows.seen(input), rows.index, source), input.shape());
  if (auto* node = record<IndexPutBackward>(result, {&input, &values})) {
    node->rows = geometry_of(rows);
    node->index = SavedTensor(rows.index);
    node->values_shape = values.shape();
    node->dtype = values.dtype();
    node->accumulates = accumulate;
  }
  return result;
}

}  // namespace halftone::ops
