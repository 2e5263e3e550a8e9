#include "ops/index/indices.h"

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

Tensor checked_indices(const Tensor& indices, const char* argument, const Tensor& table, int64_t bound) {
  if (indices.dtype() != DType::kI64 && indices.dtype() != DType::kI32) {
    fail(Code::kDtypeMismatch, argument, "%s is %s, expected i64 or i32", argument, name_of(indices.dtype()));
  }
  if (&indices.device() != &table.device()) {
    fail(Code::kDevice, argument, "%s is on another device than the tensor that it indexes", argument);
  }
  const Tensor checked = contiguous(as_dtype(indices, DType::kI64));
  Device& device = *checked.device().device;
  const auto check_range = device.kernels().index.check_range;
  if (check_range == nullptr) fail_not_implemented("check_range", device);
  const Status status = check_range(current_stream(checked.device()), argument, checked.view(), bound);
  if (!status.ok()) fail(status.code, argument, "%s", status.message);
  return checked;
}

Tensor as_dtype(const Tensor& tensor, DType dtype) {
  return tensor.dtype() == dtype ? tensor : converted(tensor, dtype);
}

void add_at(const char* operation, const Indexed& indexed, const Tensor& source, const Tensor& index,
            const Tensor& sum) {
  const Tensor terms = contiguous(as_dtype(source, sum.dtype()));
  launch(operation, sum.device(), &Kernels::index, &IndexKernels::scatter_add, indexed, terms.view(), index.view(),
         sum.view());
}

Tensor in_corner_of_zeros(const Tensor& part, const Shape& shape) {
  if (part.shape() == shape) return part;
  const Tensor whole = full(part.device(), part.dtype(), shape, 0.0);
  copy(part, corner(whole, part.shape()));
  return whole;
}

}  // namespace halftone
