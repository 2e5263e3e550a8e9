#include "halftone/state_dict.h"

#include "base/call.h"
#include "nn/handles.h"
#include "nn/load_arguments.h"
#include "nn/module.h"
#include "nn/state.h"
#include "nn/state_dict_handle.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// A caller's state dict has tensors alone: split weights are joined here.
Ref<SharedStateDict> shared_state(const StateDict& state) { return make_ref<SharedStateDict>(in_memory(state)); }

void add(StateDict& state, const char* name, const Tensor& tensor) { state.add(name, tensor.detach()); }

const StateTensor& entry_at(const StateDict& state, size_t index) {
  require_index(index, state.tensors().size());
  return state.tensors()[index];
}

// The tensor itself, or a new one that is read from the file of the state.
Tensor tensor_of(const StateTensor& entry) { return in_memory(entry).detach(); }

Tensor find(const StateDict& state, const char* name) {
  const StateTensor* entry = state.find(name);
  if (entry == nullptr) {
    fail(Code::kInvalidArgument, "name", "name=\"%.200s\" is not in the state dict", name);
  }
  return tensor_of(*entry);
}

Ref<SharedStateDict> missing_state(const nn::Module& module, const StateDict& state) {
  return shared_state(nn::missing_state(module, state));
}

Ref<SharedStateDict> unexpected_state(const nn::Module& module, const StateDict& state) {
  return shared_state(nn::unexpected_state(module, state));
}

}  // namespace

htone_status htone_state_dict_create(htone_state_dict** out) { return Call(make<SharedStateDict>, out); }

htone_status htone_state_dict_add(htone_state_dict* state_dict, const char* name, htone_tensor* tensor) {
  return Call(add, state_dict, as<checked_name>(name), tensor);
}

htone_status htone_state_dict_count(htone_state_dict* state_dict, size_t* out_count) {
  return Pure([](const StateDict& state) { return state.tensors().size(); }, state_dict, out_count);
}

htone_status htone_state_dict_name(htone_state_dict* state_dict, size_t index, char* out_name, size_t capacity,
                                   size_t* out_length) {
  return Call([](const StateDict& state, size_t i) { return entry_at(state, i).name; }, state_dict, index,
              text(out_name, capacity, out_length));
}

htone_status htone_state_dict_tensor(htone_state_dict* state_dict, size_t index, htone_tensor** out) {
  return Call([](const StateDict& state, size_t i) { return tensor_of(entry_at(state, i)); }, state_dict, index, out);
}

htone_status htone_state_dict_find(htone_state_dict* state_dict, const char* name, htone_tensor** out) {
  return Call(find, state_dict, name, out);
}

htone_status htone_module_state_dict(htone_module* module, htone_state_dict** out) {
  return Call([](const nn::Module& layer) { return shared_state(nn::state_of(layer)); }, module, out);
}

htone_status htone_module_load_state_dict(htone_module* module, htone_state_dict* state_dict,
                                          const htone_load_options* options) {
  return Call(nn::load_state, module, state_dict, as<is_strict>(options));
}

htone_status htone_module_missing_state(htone_module* module, htone_state_dict* state_dict, htone_state_dict** out) {
  return Call(missing_state, module, state_dict, out);
}

htone_status htone_module_unexpected_state(htone_module* module, htone_state_dict* state_dict, htone_state_dict** out) {
  return Call(unexpected_state, module, state_dict, out);
}
