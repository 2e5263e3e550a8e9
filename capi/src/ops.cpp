#include "halftone/ops.h"

#include "arguments.h"
#include "guard.h"
#include "ops/ops.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_add(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::add(left, unwrap(b, "b")));
  });
}

htone_status htone_sub(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::sub(left, unwrap(b, "b")));
  });
}

htone_status htone_mul(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::mul(left, unwrap(b, "b")));
  });
}

htone_status htone_div(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::div(left, unwrap(b, "b")));
  });
}

htone_status htone_matmul(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::matmul(left, unwrap(b, "b")));
  });
}

htone_status htone_linear(htone_tensor* input, htone_tensor* weight, htone_tensor* bias, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    const Tensor& w = unwrap(weight, "weight");
    wrap(out, ops::linear(x, w, unwrap_optional(bias, "bias")));
  });
}

htone_status htone_sum(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                       htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::sum(x, checked_dims_argument(dim_count, dims), keepdim != 0));
  });
}

htone_status htone_mean(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                        htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::mean(x, checked_dims_argument(dim_count, dims), keepdim != 0));
  });
}

htone_status htone_relu(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::relu(unwrap(input, "input"))); });
}

htone_status htone_gelu(htone_tensor* input, htone_gelu_form form, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::gelu(x, checked_gelu_form(form)));
  });
}

htone_status htone_softmax(htone_tensor* input, int64_t dim, htone_tensor** out) {
  return guard([&] { wrap(out, ops::softmax(unwrap(input, "input"), dim)); });
}

htone_status htone_log_softmax(htone_tensor* input, int64_t dim, htone_tensor** out) {
  return guard([&] { wrap(out, ops::log_softmax(unwrap(input, "input"), dim)); });
}

htone_status htone_cross_entropy(htone_tensor* logits, htone_tensor* targets, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(logits, "logits");
    wrap(out, ops::cross_entropy(x, unwrap(targets, "targets")));
  });
}

htone_status htone_accuracy(htone_tensor* logits, htone_tensor* targets, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(logits, "logits");
    wrap(out, ops::accuracy(x, unwrap(targets, "targets")));
  });
}

htone_status htone_reshape(htone_tensor* input, int32_t ndim, const int64_t* shape, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::reshape(x, open_shape_argument(ndim, shape)));
  });
}

htone_status htone_transpose(htone_tensor* input, int64_t dim0, int64_t dim1, htone_tensor** out) {
  return guard([&] { wrap(out, ops::transpose(unwrap(input, "input"), dim0, dim1)); });
}

htone_status htone_slice(htone_tensor* input, int64_t dim, int64_t start, int64_t end, int64_t step,
                         htone_tensor** out) {
  return guard([&] { wrap(out, ops::slice(unwrap(input, "input"), dim, start, end, step)); });
}

htone_status htone_cast(htone_tensor* input, htone_dtype dtype, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::cast(x, checked_dtype(dtype, "dtype")));
  });
}

htone_status htone_rescale(htone_tensor* input, double scale, double offset, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    require_finite(scale, "scale");
    require_finite(offset, "offset");
    wrap(out, ops::rescale(x, scale, offset));
  });
}
