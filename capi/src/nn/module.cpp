#include "nn/module.h"

#include "autograd/handles.h"
#include "base/call.h"
#include "halftone/nn.h"
#include "nn/handles.h"
#include "ops/dispatch/autocast.h"
#include "scope/scope.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

Tensor forward(const nn::Module& module, const Tensor& input, const Ref<AutocastPolicy>& policy) {
  const ScopeGuard restore;  // until it ends, only a callback may begin or end scopes of this thread
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
