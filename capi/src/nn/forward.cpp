#include "halftone/forward.h"

#include "autograd/handles.h"
#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "ops/dispatch/autocast.h"
#include "tensor/handles.h"
#include "tensor/results.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(HTONE_MAX_MODULE_TENSORS == nn::kMaxModuleTensors);

namespace {

// No module takes more, so a wrong count is refused before the array is read to its end.
size_t module_tensor_count(size_t count, ArgumentName name) {
  if (count >= 1 && count <= nn::kMaxModuleTensors) return count;
  fail(Code::kInvalidArgument, name.text(), "%s=%zu is outside [1, %zu]", name.text(), count, nn::kMaxModuleTensors);
}

// Undefined for NULL.
std::vector<Tensor> present_inputs(size_t input_count, htone_tensor* const* inputs, ArgumentName name) {
  std::vector<Tensor> tensors(module_tensor_count(input_count, name));
  require(inputs, name.next());
  for (size_t i = 0; i < input_count; ++i) {
    if (inputs[i] != nullptr) tensors[i] = object_at(inputs, i, name.next());
  }
  return tensors;
}

std::vector<Tensor> forward_n(const nn::Module& module, const std::vector<Tensor>& inputs,
                              const Ref<AutocastPolicy>& policy, size_t output_count) {
  const ScopeGuard restore;
  if (policy) scope().autocast = policy.get();
  std::vector<Tensor> outputs(output_count);
  module.run(inputs, outputs);
  return outputs;
}

}  // namespace

htone_status htone_module_forward_n(htone_module* module, size_t input_count, htone_tensor* const* inputs,
                                    htone_autocast_policy* policy, size_t output_count, htone_tensor** out_outputs) {
  return Call(forward_n, module, as<present_inputs>(input_count, inputs), optional(policy),
              as<module_tensor_count>(output_count), tensors(out_outputs));
}

htone_status htone_module_input_count(htone_module* module, size_t* out_required, size_t* out_count) {
  return guard([&] {
    const auto held = hold(module, "module");
    require_memory(out_required, "out_required");
    require_memory(out_count, "out_count");
    const nn::Arity arity = held->arity();
    *out_required = arity.required_inputs;
    *out_count = arity.inputs;
  });
}

htone_status htone_module_output_count(htone_module* module, size_t* out_count) {
  return Pure([](const nn::Module& layer) { return layer.arity().outputs; }, module, out_count);
}
