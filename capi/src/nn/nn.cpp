#include "halftone/nn.h"

#include "autograd/parameter_set.h"
#include "autograd/weights/weights.h"
#include "base/call.h"
#include "nn/activations.h"
#include "nn/gelu_form.h"
#include "nn/handles.h"
#include "nn/linear.h"
#include "nn/preparation.h"
#include "nn/sequential.h"
#include "runtime/handles.h"
#include "tensor/weight_dtype.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_linear_options linear_options(const htone_linear_options* options) {
  const htone_linear_options given = options_or_default(options, htone_linear_options(HTONE_LINEAR_OPTIONS_INIT));
  checked_weight_dtype(given.dtype, "options", "options.dtype");
  return given;
}

// Weights of [out_features, in_features] must be countable in bytes.
Shape linear_shape(int64_t in_features, int64_t out_features) {
  int64_t bytes = sizeof(double);
  if (__builtin_mul_overflow(bytes, positive(in_features, "in_features"), &bytes) ||
      __builtin_mul_overflow(bytes, positive(out_features, "out_features"), &bytes)) {
    fail(Code::kInvalidArgument, in_features > out_features ? "in_features" : "out_features",
         "in_features=%lld times out_features=%lld is more than 64 bits can count in bytes",
         static_cast<long long>(in_features), static_cast<long long>(out_features));
  }
  return {out_features, in_features};
}

Ref<nn::Module> make_linear(ContextDevice& device, const Shape& weight, const htone_linear_options& options) {
  return make_ref<nn::Linear>(device, weight[1], weight[0], options.bias != 0, static_cast<DType>(options.dtype));
}

Ref<nn::Module> make_tied_linear(const Ref<Parameter>& weight, const Ref<Parameter>& bias) {
  const Shape& shape = weight->weights().tensor().shape();
  if (shape.rank() != 2) {
    fail(Code::kShapeMismatch, "weight", "weight %s, expected [out_features, in_features]", ShapeText(shape).text);
  }
  if (bias && bias->weights().tensor().shape() != Shape{shape[0]}) {
    fail(Code::kShapeMismatch, "bias", "bias %s, expected [%lld]", ShapeText(bias->weights().tensor().shape()).text,
         static_cast<long long>(shape[0]));
  }
  return make_ref<nn::Linear>(weight, bias);
}

}  // namespace

htone_status htone_module_create_linear(htone_device* device, int64_t in_features, int64_t out_features,
                                        const htone_linear_options* options, htone_module** out) {
  return Call(make_linear, device, as<linear_shape>(in_features, out_features), as<linear_options>(options), out);
}

htone_status htone_module_create_tied_linear(htone_parameter* weight, htone_parameter* bias, htone_module** out) {
  return Call(make_tied_linear, shared(weight), optional(bias), out);
}

htone_status htone_module_create_relu(htone_module** out) { return Call(make<nn::Relu>, out); }

htone_status htone_module_create_gelu(htone_gelu_form form, htone_module** out) {
  return Call(make<nn::Gelu>, as<checked_gelu_form>(form), out);
}

htone_status htone_module_create_silu(htone_module** out) { return Call(make<nn::Silu>, out); }

htone_status htone_module_create_sigmoid(htone_module** out) { return Call(make<nn::Sigmoid>, out); }

htone_status htone_module_create_tanh(htone_module** out) { return Call(make<nn::Tanh>, out); }

htone_status htone_module_create_flatten(htone_module** out) { return Call(make<nn::Flatten>, out); }

htone_status htone_module_create_rescaling(double scale, double offset, htone_module** out) {
  return Call(make<nn::Rescaling>, as<finite_number>(scale), as<finite_number>(offset), out);
}

htone_status htone_module_create_sequential(size_t count, htone_module* const* modules, htone_module** out) {
  return Call(make<nn::Sequential>, several(count, modules), out);
}
