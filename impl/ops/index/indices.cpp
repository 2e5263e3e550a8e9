#include "ops/index/indices.h"

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/ternary.h"
#include "ops/shape/stride.h"
#include "tensor/arange.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

Tensor checked_indices(const Tensor& indices, const char* argument, const Tensor& table, int64_t bound,
                       const char* entry) {
  const char* const name = entry == nullptr ? argument : entry;
  if (indices.dtype() != DType::kI64 && indices.dtype() != DType::kI32) {
    fail(Code::kDtypeMismatch, argument, "%s is %s, expected i64 or i32", name, name_of(indices.dtype()));
  }
  if (&indices.device() != &table.device()) {
    fail(Code::kDevice, argument, "%s is on another device than the tensor that it indexes", name);
  }
  const Tensor checked = contiguous(as_dtype(indices, DType::kI64));
  Device& device = *checked.device().device;
  const auto check_range = device.kernels().index.check_range;
  if (check_range == nullptr) fail_not_implemented("check_range", device);
  const Status status = check_range(current_stream(checked.device()), name, checked.view(), bound);
  if (!status.ok()) fail(status.code, argument, "%s", status.message);
  return checked;
}

int checked_index_dim(const Tensor& input, int64_t dim) {
  if (input.rank() == 0) fail(Code::kInvalidArgument, "input", "input is a scalar, expected at least one dimension");
  return checked_dim(dim, input.rank(), "dim");
}

void require_reach(const Tensor& index, const Tensor& other, const char* name, int dim) {
  bool fits = index.rank() == other.rank();
  for (int i = 0; fits && i < index.rank(); ++i) fits = i == dim || index.size(i) <= other.size(i);
  if (fits) return;
  fail(Code::kShapeMismatch, "index", "index %s reaches beyond %s %s", ShapeText(index.shape()).text, name,
       ShapeText(other.shape()).text);
}

void require_vector(const Tensor& indices, const char* argument) {
  if (indices.rank() == 1) return;
  fail(Code::kShapeMismatch, argument, "%s %s has %d dimensions, expected 1", argument, ShapeText(indices.shape()).text,
       indices.rank());
}

Tensor as_dtype(const Tensor& tensor, DType dtype) {
  return tensor.dtype() == dtype ? tensor : converted(tensor, dtype);
}

namespace {

// The shape of the elements that the index picks from the part that it reaches.
Shape shape_at(const Shape& part, int dim, const Tensor& index) {
  Shape shape = part;
  shape[dim] = index.rank() == part.rank() ? index.size(dim) : index.size(0);
  return shape;
}

}  // namespace

Shape reached(const Tensor& tensor, int dim, const Tensor& index) {
  if (index.rank() != tensor.rank()) return tensor.shape();
  Shape shape = index.shape();
  shape[dim] = tensor.size(dim);
  return shape;
}

Tensor picked(const char* operation, const Tensor& from, int dim, const Tensor& index) {
  const Tensor table = contiguous(corner(from, reached(from, dim, index)));
  Tensor result = empty(from.device(), from.dtype(), shape_at(table.shape(), dim, index));
  launch(operation, from.device(), &Kernels::index, &IndexKernels::gather, dim, table.view(), index.view(),
         result.view());
  return result;
}

void join_at(const char* operation, const Indexed& indexed, const Tensor& source, const Tensor& index,
             const Tensor& target) {
  const Tensor terms = contiguous(as_dtype(source, target.dtype()));
  launch(operation, target.device(), &Kernels::index, &IndexKernels::scatter, indexed, terms.view(), index.view(),
         target.view());
}

Tensor scattered(const char* operation, const Indexed& indexed, const Tensor& input, const Tensor& index,
                 const Tensor& source) {
  const Shape part = reached(input, indexed.dim, index);
  const Tensor joined = converted(corner(input, part), sum_dtype(input.dtype()));
  join_at(operation, indexed, corner(source, shape_at(part, indexed.dim, index)), index, joined);
  return in_corner_of(input, joined);
}

Tensor filled_at(const char* operation, const Tensor& input, int dim, const Tensor& index, double number) {
  const Shape shape = shape_at(reached(input, dim, index), dim, index);
  const Tensor numbers = full(input.device(), input.dtype(), shape, number);
  return scattered(operation, {.dim = dim, .op = ScatterOp::kAssign}, input, index, numbers);
}

// Writes the position of each entry along `dim` to its place. An entry that finds its own position there is the last.
Tensor picked_for_last(const char* operation, const Tensor& grad, int dim, const Tensor& index) {
  const bool is_vector = index.rank() != grad.rank();
  const int along = is_vector ? 0 : dim;
  const Arange numbers = {.start = 0, .end = static_cast<double>(index.size(along)), .step = 1};
  Shape line = index.shape();
  for (int i = 0; i < line.rank(); ++i) line[i] = i == along ? line[i] : 1;
  const Tensor positions = expanded(reshaped(arange(grad.device(), DType::kI64, numbers), line), index.shape());
  Shape places = index.shape();
  places[along] = grad.size(dim);
  const Tensor last = full(grad.device(), DType::kI64, places, 0.0);
  join_at(operation, {.dim = along, .op = ScatterOp::kAssign}, positions, index, last);
  Tensor stays = ops::eq(picked(operation, last, along, index), positions);
  if (is_vector) {
    Shape aligned;
    for (int i = 0; i < grad.rank(); ++i) aligned.push_back(i == dim ? index.size(0) : 1);
    stays = reshaped(stays, aligned);
  }
  const Tensor zero = full(grad.device(), grad.dtype(), {}, 0.0);
  return apply_ternary(operation, TernaryOp::kWhere, {stays, picked(operation, grad, dim, index), zero}, grad.dtype());
}

Tensor in_corner_of_zeros(const Tensor& part, const Shape& shape) {
  if (part.shape() == shape) return part;
  const Tensor whole = full(part.device(), part.dtype(), shape, 0.0);
  copy(part, corner(whole, part.shape()));
  return whole;
}

Tensor in_corner_of(const Tensor& whole, const Tensor& part) {
  if (part.shape() == whole.shape()) return as_dtype(part, whole.dtype());
  Tensor result = converted(whole, whole.dtype());
  copy(part, corner(result, part.shape()));
  return result;
}

}  // namespace halftone
