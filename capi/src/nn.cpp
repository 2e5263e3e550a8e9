#include "halftone/nn.h"

#include <vector>

#include "arguments.h"
#include "guard.h"
#include "nn/activations.h"
#include "nn/linear.h"
#include "nn/preparation.h"
#include "nn/sequential.h"
#include "ops/check.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_linear_options default_linear_options() {
  htone_linear_options options = {};
  options.struct_size = sizeof options;
  options.bias = 1;
  options.dtype = HTONE_F32;
  return options;
}

void require_features(int64_t value, const char* argument) {
  if (value < 1) {
    fail(Code::kInvalidArgument, argument, "%s=%lld, expected at least 1", argument, static_cast<long long>(value));
  }
}

// Weights of [out_features, in_features] must be countable in bytes.
void require_countable(int64_t in_features, int64_t out_features) {
  int64_t bytes = sizeof(double);
  if (!__builtin_mul_overflow(bytes, in_features, &bytes) && !__builtin_mul_overflow(bytes, out_features, &bytes)) {
    return;
  }
  fail(Code::kInvalidArgument, in_features > out_features ? "in_features" : "out_features",
       "in_features=%lld times out_features=%lld is more than 64 bits can count in bytes",
       static_cast<long long>(in_features), static_cast<long long>(out_features));
}

// A named parameter or buffer of a list.
template <class Named>
const Named& element_at(const std::vector<Named>& list, size_t index) {
  if (index >= list.size()) {
    fail(Code::kInvalidArgument, "index", "index=%zu is outside [0, %zu)", index, list.size());
  }
  return list[index];
}

}  // namespace

htone_status htone_linear_options_init(htone_linear_options* options) {
  return guard([&] { require(options, "options") = default_linear_options(); });
}

htone_status htone_module_create_linear(htone_device* device, int64_t in_features, int64_t out_features,
                                        const htone_linear_options* options, htone_module** out) {
  return guard([&] {
    ContextDevice& target = unwrap(device, "device")->device;
    require_features(in_features, "in_features");
    require_features(out_features, "out_features");
    require_countable(in_features, out_features);
    const htone_linear_options settings = options_or_default(options, default_linear_options());
    const DType dtype = checked_weight_dtype(settings.dtype, "options", "options.dtype");
    require(out, "out");  // before random streams are taken
    wrap(out, make_ref<nn::Linear>(target, in_features, out_features, settings.bias != 0, dtype));
  });
}

htone_status htone_module_create_relu(htone_module** out) {
  return guard([&] { wrap(out, make_ref<nn::Relu>()); });
}

htone_status htone_module_create_gelu(htone_gelu_form form, htone_module** out) {
  return guard([&] { wrap(out, make_ref<nn::Gelu>(checked_gelu_form(form))); });
}

htone_status htone_module_create_silu(htone_module** out) {
  return guard([&] { wrap(out, make_ref<nn::Silu>()); });
}

htone_status htone_module_create_sigmoid(htone_module** out) {
  return guard([&] { wrap(out, make_ref<nn::Sigmoid>()); });
}

htone_status htone_module_create_tanh(htone_module** out) {
  return guard([&] { wrap(out, make_ref<nn::Tanh>()); });
}

htone_status htone_module_create_flatten(htone_module** out) {
  return guard([&] { wrap(out, make_ref<nn::Flatten>()); });
}

htone_status htone_module_create_rescaling(double scale, double offset, htone_module** out) {
  return guard([&] {
    require_finite(scale, "scale");
    require_finite(offset, "offset");
    wrap(out, make_ref<nn::Rescaling>(scale, offset));
  });
}

htone_status htone_module_create_sequential(size_t count, htone_module* const* modules, htone_module** out) {
  return guard([&] { wrap(out, make_ref<nn::Sequential>(unwrap_array(count, modules, "modules"))); });
}

htone_status htone_module_retain(htone_module* module) {
  return guard([&] { retain_handle(module, "module"); });
}

htone_status htone_module_release(htone_module* module) {
  return guard([&] { release_handle(module, "module"); });
}

htone_status htone_module_forward(htone_module* module, htone_tensor* input, htone_autocast_policy* policy,
                                  htone_tensor** out) {
  return guard([&] {
    const Ref<nn::Module> layer = hold(module, "module");
    const Tensor x = hold(input, "input");
    const Ref<AutocastPolicy> table = unwrap_optional(policy, "policy");
    require(out, "out");
    const ScopeGuard restore;
    if (table) scope().autocast = table.get();
    wrap(out, layer->run(x));
  });
}

htone_status htone_module_parameter_count(htone_module* module, size_t* out_count) {
  return guard([&] {
    const nn::Module& layer = *unwrap(module, "module");
    require(out_count, "out_count") = layer.contents()->parameters.size();
  });
}

htone_status htone_module_parameter(htone_module* module, size_t index, htone_parameter** out) {
  return guard([&] { wrap(out, element_at(unwrap(module, "module")->contents()->parameters, index).parameter); });
}

htone_status htone_module_parameter_name(htone_module* module, size_t index, char* out_name, size_t capacity,
                                         size_t* out_length) {
  return guard([&] {
    const auto contents = unwrap(module, "module")->contents();
    copy_text(element_at(contents->parameters, index).name.c_str(), out_name, "out_name", capacity, out_length);
  });
}

htone_status htone_module_buffer_count(htone_module* module, size_t* out_count) {
  return guard([&] {
    const nn::Module& layer = *unwrap(module, "module");
    require(out_count, "out_count") = layer.contents()->buffers.size();
  });
}

htone_status htone_module_buffer(htone_module* module, size_t index, htone_tensor** out) {
  return guard([&] { wrap(out, element_at(unwrap(module, "module")->contents()->buffers, index).tensor); });
}

htone_status htone_module_buffer_name(htone_module* module, size_t index, char* out_name, size_t capacity,
                                      size_t* out_length) {
  return guard([&] {
    const auto contents = unwrap(module, "module")->contents();
    copy_text(element_at(contents->buffers, index).name.c_str(), out_name, "out_name", capacity, out_length);
  });
}

htone_status htone_module_train(htone_module* module, int32_t training) {
  return guard([&] { unwrap(module, "module")->set_training(training != 0); });
}

htone_status htone_module_is_training(htone_module* module, int32_t* out_training) {
  return guard([&] {
    const nn::Module& layer = *unwrap(module, "module");
    require(out_training, "out_training") = layer.is_training() ? 1 : 0;
  });
}

htone_status htone_parameters_create_from_module(htone_module* module, htone_parameters** out) {
  return guard([&] { wrap(out, make_ref<ParameterSet>(unwrap(module, "module")->parameters())); });
}
