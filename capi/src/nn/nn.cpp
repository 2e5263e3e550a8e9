#include "halftone/nn.h"

#include "base/call.h"
#include "base/scope.h"
#include "nn/activations.h"
#include "nn/linear.h"
#include "nn/preparation.h"
#include "nn/sequential.h"

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

Tensor forward(const nn::Module& module, const Tensor& input, const Ref<AutocastPolicy>& policy) {
  const ScopeGuard restore;
  if (policy) scope().autocast = policy.get();
  return module.run(input);
}

template <class Named>
const Named& element_at(const std::vector<Named>& list, size_t index) {
  require_index(index, list.size());
  return list[index];
}

}  // namespace

htone_status htone_deferred_init_begin(htone_scope** out) {
  return guard([&] {
    Ref<OpenScope> open = open_scope();
    require_memory(out, "out");
    enter(std::move(open), out);
    scope().defers_weights = true;
  });
}

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

htone_status htone_module_forward(htone_module* module, htone_tensor* input, htone_autocast_policy* policy,
                                  htone_tensor** out) {
  return Call(forward, module, input, optional(policy), out);
}

htone_status htone_module_parameter_count(htone_module* module, size_t* out_count) {
  return Call([](const nn::Module& layer) { return layer.contents()->parameters.size(); }, module, out_count);
}

htone_status htone_module_parameter(htone_module* module, size_t index, htone_parameter** out) {
  return Call([](const nn::Module& layer, size_t i) { return element_at(layer.contents()->parameters, i).parameter; },
              module, index, out);
}

htone_status htone_module_parameter_name(htone_module* module, size_t index, char* out_name, size_t capacity,
                                         size_t* out_length) {
  return Call([](const nn::Module& layer, size_t i) { return element_at(layer.contents()->parameters, i).name; },
              module, index, text(out_name, capacity, out_length));
}

htone_status htone_module_buffer_count(htone_module* module, size_t* out_count) {
  return Call([](const nn::Module& layer) { return layer.contents()->buffers.size(); }, module, out_count);
}

htone_status htone_module_buffer(htone_module* module, size_t index, htone_tensor** out) {
  return Call([](const nn::Module& layer, size_t i) { return element_at(layer.contents()->buffers, i).tensor; }, module,
              index, out);
}

htone_status htone_module_buffer_name(htone_module* module, size_t index, char* out_name, size_t capacity,
                                      size_t* out_length) {
  return Call([](const nn::Module& layer, size_t i) { return element_at(layer.contents()->buffers, i).name; }, module,
              index, text(out_name, capacity, out_length));
}

htone_status htone_module_set_training(htone_module* module, int32_t training) {
  return Call(&nn::Module::set_training, module, training);
}

htone_status htone_module_is_training(htone_module* module, int32_t* out_training) {
  return Pure(&nn::Module::is_training, module, out_training);
}

htone_status htone_parameters_create_from_module(htone_module* module, htone_parameters** out) {
  return Call([](const nn::Module& layer) { return make_ref<ParameterSet>(layer.contents()->parameters); }, module,
              out);
}
