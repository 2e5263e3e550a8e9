#include "halftone/ops.h"

#include "backend/kernels/gemm.h"
#include "base/call.h"
#include "nn/gelu_form.h"
#include "ops/dispatch/cast.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/shape.h"
#include "ops/softmax/softmax.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int>(GemmActivation::kRelu) == HTONE_ACTIVATION_RELU);
static_assert(static_cast<int>(GemmActivation::kGeluErf) == HTONE_ACTIVATION_GELU_ERF);
static_assert(static_cast<int>(GemmActivation::kGeluTanh) == HTONE_ACTIVATION_GELU_TANH);
static_assert(static_cast<int>(GemmActivation::kSilu) == HTONE_ACTIVATION_SILU);

namespace {

GemmActivation checked_activation(htone_activation activation, ArgumentName argument) {
  if (activation < HTONE_ACTIVATION_RELU || activation > HTONE_ACTIVATION_SILU) {
    fail(Code::kInvalidArgument, argument.text(), "activation=%d, expected one of htone_activation", activation);
  }
  return static_cast<GemmActivation>(activation);
}

}  // namespace

htone_status htone_add(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::add, a, b, out); }
htone_status htone_sub(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::sub, a, b, out); }
htone_status htone_mul(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::mul, a, b, out); }
htone_status htone_div(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::div, a, b, out); }
htone_status htone_matmul(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::matmul, a, b, out); }

htone_status htone_linear(htone_tensor* input, htone_tensor* weight, htone_tensor* bias, htone_tensor** out) {
  return Pure(ops::linear, input, weight, optional(bias), out);
}

htone_status htone_linear_activation(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                     htone_activation activation, htone_tensor** out) {
  return Pure(ops::linear_activation, input, weight, optional(bias), as<checked_activation>(activation), out);
}

htone_status htone_activation_linear(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                     htone_activation activation, htone_tensor** out) {
  return Pure(ops::activation_linear, input, weight, optional(bias), as<checked_activation>(activation), out);
}

htone_status htone_sum(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                       htone_tensor** out) {
  return Pure(ops::sum, input, as<dim_list>(dim_count, dims), keepdim, out);
}

htone_status htone_mean(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                        htone_tensor** out) {
  return Pure(ops::mean, input, as<dim_list>(dim_count, dims), keepdim, out);
}

htone_status htone_relu(htone_tensor* input, htone_tensor** out) { return Pure(ops::relu, input, out); }

htone_status htone_gelu(htone_tensor* input, htone_gelu_form form, htone_tensor** out) {
  return Pure(ops::gelu, input, as<checked_gelu_form>(form), out);
}

htone_status htone_softmax(htone_tensor* input, int64_t dim, htone_tensor** out) {
  return Pure(ops::softmax, input, dim, out);
}

htone_status htone_log_softmax(htone_tensor* input, int64_t dim, htone_tensor** out) {
  return Pure(ops::log_softmax, input, dim, out);
}

htone_status htone_accuracy(htone_tensor* logits, htone_tensor* targets, htone_tensor** out) {
  return Pure(ops::accuracy, logits, targets, out);
}

htone_status htone_reshape(htone_tensor* input, int32_t ndim, const int64_t* shape, htone_tensor** out) {
  return Pure(ops::reshape, input, as<open_shape>(ndim, shape), out);
}

htone_status htone_transpose(htone_tensor* input, int64_t dim0, int64_t dim1, htone_tensor** out) {
  return Pure(ops::transpose, input, dim0, dim1, out);
}

htone_status htone_slice(htone_tensor* input, int64_t dim, int64_t start, int64_t end, int64_t step,
                         htone_tensor** out) {
  return Pure(ops::slice, input, dim, start, end, step, out);
}

htone_status htone_cast(htone_tensor* input, htone_dtype dtype, htone_tensor** out) {
  return Pure(ops::cast, input, as<checked_dtype>(dtype), out);
}

htone_status htone_rescale(htone_tensor* input, double scale, double offset, htone_tensor** out) {
  return Pure(ops::rescale, input, as<finite_number>(scale), as<finite_number>(offset), out);
}
