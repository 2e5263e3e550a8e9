#include "halftone/state_dict.h"

#include "arguments.h"
#include "guard.h"
#include "nn/state.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_load_options default_load_options() {
  htone_load_options options = {};
  options.struct_size = sizeof options;
  options.strict = 1;
  return options;
}

Ref<SharedStateDict> shared(StateDict state) { return make_ref<SharedStateDict>(std::move(state)); }

const StateTensor& entry_at(const StateDict& state, size_t index) {
  const std::vector<StateTensor>& tensors = state.tensors();
  if (index >= tensors.size()) {
    fail(Code::kInvalidArgument, "index", "index=%zu is outside [0, %zu)", index, tensors.size());
  }
  return tensors[index];
}

const StateTensor& entry_named(const StateDict& state, const char* name) {
  const StateTensor* entry = state.find(&require(name, "name"));
  if (entry == nullptr) {
    fail(Code::kInvalidArgument, "name", "name=\"%.200s\" is not in the state dict", name);
  }
  return *entry;
}

}  // namespace

htone_status htone_state_dict_create(htone_state_dict** out) {
  return guard([&] { wrap(out, make_ref<SharedStateDict>()); });
}

htone_status htone_state_dict_retain(htone_state_dict* state_dict) {
  return guard([&] { retain_handle(state_dict, "state_dict"); });
}

htone_status htone_state_dict_release(htone_state_dict* state_dict) {
  return guard([&] { release_handle(state_dict, "state_dict"); });
}

htone_status htone_state_dict_add(htone_state_dict* state_dict, const char* name, htone_tensor* tensor) {
  return guard([&] {
    StateDict& state = unwrap(state_dict, "state_dict")->state;
    require_name(&require(name, "name"));
    state.add(name, unwrap(tensor, "tensor").detach());
  });
}

htone_status htone_state_dict_count(htone_state_dict* state_dict, size_t* out_count) {
  return guard([&] {
    const StateDict& state = unwrap(state_dict, "state_dict")->state;
    require(out_count, "out_count") = state.tensors().size();
  });
}

htone_status htone_state_dict_name(htone_state_dict* state_dict, size_t index, char* out_name, size_t capacity,
                                   size_t* out_length) {
  return guard([&] {
    const StateTensor& entry = entry_at(unwrap(state_dict, "state_dict")->state, index);
    copy_text(entry.name.c_str(), out_name, "out_name", capacity, out_length);
  });
}

htone_status htone_state_dict_tensor(htone_state_dict* state_dict, size_t index, htone_tensor** out) {
  return guard([&] { wrap(out, entry_at(unwrap(state_dict, "state_dict")->state, index).tensor.detach()); });
}

htone_status htone_state_dict_find(htone_state_dict* state_dict, const char* name, htone_tensor** out) {
  return guard([&] { wrap(out, entry_named(unwrap(state_dict, "state_dict")->state, name).tensor.detach()); });
}

htone_status htone_module_state_dict(htone_module* module, htone_state_dict** out) {
  return guard([&] { wrap(out, shared(nn::state_of(*unwrap(module, "module")))); });
}

htone_status htone_load_options_init(htone_load_options* options) {
  return guard([&] { require(options, "options") = default_load_options(); });
}

htone_status htone_module_load_state_dict(htone_module* module, htone_state_dict* state_dict,
                                          const htone_load_options* options) {
  return guard([&] {
    const nn::Module& layer = *unwrap(module, "module");
    const StateDict& state = unwrap(state_dict, "state_dict")->state;
    nn::load_state(layer, state, options_or_default(options, default_load_options()).strict != 0);
  });
}

htone_status htone_module_missing_state(htone_module* module, htone_state_dict* state_dict, htone_state_dict** out) {
  return guard([&] {
    const StateDict own = nn::state_of(*unwrap(module, "module"));
    wrap(out, shared(nn::difference(own, unwrap(state_dict, "state_dict")->state)));
  });
}

htone_status htone_module_unexpected_state(htone_module* module, htone_state_dict* state_dict, htone_state_dict** out) {
  return guard([&] {
    const StateDict own = nn::state_of(*unwrap(module, "module"));
    wrap(out, shared(nn::difference(unwrap(state_dict, "state_dict")->state, own)));
  });
}
