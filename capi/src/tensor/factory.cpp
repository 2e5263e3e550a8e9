#include "halftone/factory.h"

#include "base/call.h"
#include "halftone/random.h"
#include "ops/index/index.h"
#include "runtime/context.h"
#include "runtime/handles.h"
#include "tensor/factory.h"
#include "tensor/handles.h"
#include "tensor/linspace.h"
#include "tensor/weight_dtype.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// A size of one dimension, which must be countable in bytes.
int64_t one_size(int64_t size, ArgumentName name) {
  checked_shape(&size, 1, name.text());
  return size;
}

int64_t class_count(int64_t classes, ArgumentName name) { return one_size(positive(classes, name), name); }

// Two sizes whose product must be countable as well.
Shape matrix_shape(int64_t rows, int64_t columns) {
  checked_shape(&rows, 1, "rows");
  const int64_t sizes[] = {rows, columns};
  return checked_shape(sizes, 2, "columns");
}

Tensor constant(ContextDevice& device, DType dtype, const Shape& shape, double value) {
  return full(device, dtype, shape, value, Category::kOther);
}
Tensor zeros(ContextDevice& device, DType dtype, const Shape& shape) { return constant(device, dtype, shape, 0.0); }
Tensor ones(ContextDevice& device, DType dtype, const Shape& shape) { return constant(device, dtype, shape, 1.0); }

Tensor full_like(const Tensor& tensor, double value) {
  return constant(tensor.device(), tensor.dtype(), tensor.shape(), value);
}
Tensor zeros_like(const Tensor& tensor) { return full_like(tensor, 0.0); }
Tensor ones_like(const Tensor& tensor) { return full_like(tensor, 1.0); }

Tensor linspace_of(ContextDevice& device, DType dtype, double start, double end, int64_t count) {
  return linspace(device, dtype, {start, end, count});
}

Tensor uniform_numbers(ContextDevice& device, DType dtype, const Shape& shape) {
  Tensor result = empty(device, dtype, shape, Category::kOther);
  fill_uniform(result, device.context->next_key(), 0.0, 1.0);
  return result;
}
Tensor normal_numbers(ContextDevice& device, DType dtype, const Shape& shape) {
  Tensor result = empty(device, dtype, shape, Category::kOther);
  fill_normal(result, device.context->next_key(), 0.0, 1.0);
  return result;
}

}  // namespace

htone_status htone_tensor_create_zeros(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                       htone_tensor** out) {
  return Call(zeros, device, as<checked_dtype>(dtype), as<fixed_shape>(ndim, shape), out);
}

htone_status htone_tensor_create_ones(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                      htone_tensor** out) {
  return Call(ones, device, as<checked_dtype>(dtype), as<fixed_shape>(ndim, shape), out);
}

htone_status htone_tensor_zeros_like(htone_tensor* tensor, htone_tensor** out) { return Pure(zeros_like, tensor, out); }

htone_status htone_tensor_ones_like(htone_tensor* tensor, htone_tensor** out) { return Pure(ones_like, tensor, out); }

htone_status htone_tensor_full_like(htone_tensor* tensor, double value, htone_tensor** out) {
  return Pure(full_like, tensor, value, out);
}

htone_status htone_linspace(htone_device* device, htone_dtype dtype, double start, double end, int64_t count,
                            htone_tensor** out) {
  return Call(linspace_of, device, as<checked_dtype>(dtype), start, end, as<one_size>(count), out);
}

htone_status htone_eye(htone_device* device, htone_dtype dtype, int64_t rows, int64_t columns, htone_tensor** out) {
  return Call(eye, device, as<checked_dtype>(dtype), as<matrix_shape>(rows, columns), out);
}

htone_status htone_one_hot(htone_tensor* indices, int64_t classes, htone_tensor** out) {
  return Pure(ops::one_hot, indices, as<class_count>(classes), out);
}

htone_status htone_rand(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                        htone_tensor** out) {
  return Call(uniform_numbers, device, as<weight_dtype>(dtype), as<fixed_shape>(ndim, shape), out);
}

htone_status htone_randn(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                         htone_tensor** out) {
  return Call(normal_numbers, device, as<weight_dtype>(dtype), as<fixed_shape>(ndim, shape), out);
}
