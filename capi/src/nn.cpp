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

DType checked_weight_dtype(htone_dtype dtype, const char* argument, const char* shown) {
  const DType checked = static_cast<DType>(dtype);
  if (!is_arithmetic_float(checked)) {
    fail(Code::kInvalidArgument, argument, "%s=%s, expected f64, f32, f16 or bf16", shown, htone_dtype_name(dtype));
  }
  return checked;
}

nn::NamedParameter parameter_at(const nn::Module& module, size_t index) {
  const std::vector<nn::NamedParameter> parameters = module.parameters();
  if (index >= parameters.size()) {
    fail(Code::kInvalidArgument, "index", "index=%zu is outside [0, %zu)", index, parameters.size());
  }
  return parameters[index];
}

}  // namespace

htone_status htone_linear_options_init(htone_linear_options* options) {
  return guard("htone_linear_options_init(options)", [&] { require(options, "options") = default_linear_options(); });
}

htone_status htone_module_create_linear(htone_device* device, int64_t in_features, int64_t out_features,
                                        const htone_linear_options* options, htone_module** out) {
  return guard("htone_module_create_linear(device, in_features, out_features, options, out)", [&] {
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
  return guard("htone_module_create_relu(out)", [&] { wrap(out, make_ref<nn::Relu>()); });
}

htone_status htone_module_create_gelu(htone_gelu_form form, htone_module** out) {
  return guard("htone_module_create_gelu(form, out)",
               [&] { wrap(out, make_ref<nn::Gelu>(checked_gelu_form(form))); });
}

htone_status htone_module_create_flatten(htone_module** out) {
  return guard("htone_module_create_flatten(out)", [&] { wrap(out, make_ref<nn::Flatten>()); });
}

htone_status htone_module_create_rescaling(double scale, double offset, htone_module** out) {
  return guard("htone_module_create_rescaling(scale, offset, out)", [&] {
    require_finite(scale, "scale");
    require_finite(offset, "offset");
    wrap(out, make_ref<nn::Rescaling>(scale, offset));
  });
}

htone_status htone_module_create_sequential(size_t count, htone_module* const* modules, htone_module** out) {
  return guard("htone_module_create_sequential(count, modules, out)", [&] {
    if (count > 0) require(modules, "modules");
    std::vector<Ref<nn::Module>> parts;
    for (size_t i = 0; i < count; ++i) parts.push_back(unwrap(modules[i], "modules"));
    wrap(out, make_ref<nn::Sequential>(std::move(parts)));
  });
}

htone_status htone_module_retain(htone_module* module) {
  return guard("htone_module_retain(module)", [&] { retain_handle(module, "module"); });
}

htone_status htone_module_release(htone_module* module) {
  return guard("htone_module_release(module)", [&] { release_handle(module, "module"); });
}

htone_status htone_module_forward(htone_module* module, htone_tensor* input, htone_autocast_policy* policy,
                                  htone_tensor** out) {
  return guard("htone_module_forward(module, input, policy, out)", [&] {
    const nn::Module& layer = *unwrap(module, "module");
    const Tensor& x = unwrap(input, "input");
    const Ref<AutocastPolicy> table = unwrap_optional(policy, "policy");
    require(out, "out");
    const ScopeGuard restore;
    if (table) scope().autocast = table.get();
    wrap(out, layer.forward(x));
  });
}

htone_status htone_module_parameter_count(htone_module* module, size_t* out_count) {
  return guard("htone_module_parameter_count(module, out_count)", [&] {
    const nn::Module& layer = *unwrap(module, "module");
    require(out_count, "out_count") = layer.parameters().size();
  });
}

htone_status htone_module_parameter(htone_module* module, size_t index, htone_parameter** out) {
  return guard("htone_module_parameter(module, index, out)",
               [&] { wrap(out, parameter_at(*unwrap(module, "module"), index).parameter); });
}

htone_status htone_module_parameter_name(htone_module* module, size_t index, char* out_name, size_t capacity,
                                         size_t* out_length) {
  return guard("htone_module_parameter_name(module, index, out_name, capacity, out_length)", [&] {
    const nn::NamedParameter named = parameter_at(*unwrap(module, "module"), index);
    copy_text(named.name.c_str(), out_name, "out_name", capacity, out_length);
  });
}

htone_status htone_parameter_retain(htone_parameter* parameter) {
  return guard("htone_parameter_retain(parameter)", [&] { retain_handle(parameter, "parameter"); });
}

htone_status htone_parameter_release(htone_parameter* parameter) {
  return guard("htone_parameter_release(parameter)", [&] { release_handle(parameter, "parameter"); });
}

htone_status htone_parameter_tensor(htone_parameter* parameter, htone_tensor** out) {
  return guard("htone_parameter_tensor(parameter, out)", [&] { wrap(out, unwrap(parameter, "parameter")->leaf()); });
}

htone_status htone_parameter_read(htone_parameter* parameter, htone_dtype dtype, htone_tensor** out) {
  return guard("htone_parameter_read(parameter, dtype, out)", [&] {
    const Parameter& source = *unwrap(parameter, "parameter");
    wrap(out, source.read(checked_weight_dtype(dtype, "dtype", "dtype")));
  });
}
