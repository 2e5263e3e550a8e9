#include "halftone/checkpoint.h"

#include "arguments.h"
#include "checkpoint/safetensors.h"
#include "data/state.h"
#include "guard.h"
#include "nn/state.h"
#include "optim/state.h"

using namespace halftone;
using namespace halftone::capi;

namespace halftone::capi {

static StateDict state_of(const SharedStateDict& shared) { return shared.state; }
static StagedLoad stage_state(const SharedStateDict& shared, const StateDict& state) {
  return stage_copy(shared.state, state);
}

}  // namespace halftone::capi

namespace {

const char* checked_path(const char* path, const char* argument) {
  if (require(path, argument) == '\0') fail(Code::kInvalidArgument, argument, "%s is empty", argument);
  return path;
}

// What a room says of a file is about the argument that led there.
template <class Action>
void about(const char* argument, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    if (error.argument()[0] != '\0') throw;
    throw Error(error.code(), error.native_code(), argument, error.what());
  }
}

// A part that lives in an object: read by state_of and staged by stage_state of the object's room.
template <class Object>
void add_part(htone_checkpoint* checkpoint, const char* name, const Ref<Object>& object) {
  trainer::Checkpoint& target = *unwrap(checkpoint, "checkpoint");
  require_name(&require(name, "name"));
  target.add({.name = name,
              .read = [object] { return state_of(*object); },
              .stage = [object](const StateDict& state) { return stage_state(*object, state); }});
}

}  // namespace

htone_status htone_checkpoint_create(htone_context* context, const char* directory, htone_checkpoint** out) {
  return guard([&] {
    const Ref<Context>& owner = unwrap(context, "context");
    checked_path(directory, "directory");
    require(out, "out");
    about("directory", [&] { wrap(out, make_ref<trainer::Checkpoint>(owner, directory)); });
  });
}

htone_status htone_checkpoint_retain(htone_checkpoint* checkpoint) {
  return guard([&] { retain_handle(checkpoint, "checkpoint"); });
}

htone_status htone_checkpoint_release(htone_checkpoint* checkpoint) {
  return guard([&] { release_handle(checkpoint, "checkpoint"); });
}

htone_status htone_checkpoint_add_module(htone_checkpoint* checkpoint, const char* name, htone_module* module) {
  return guard([&] { add_part(checkpoint, name, unwrap(module, "module")); });
}

htone_status htone_checkpoint_add_optimizer(htone_checkpoint* checkpoint, const char* name,
                                            htone_optimizer* optimizer) {
  return guard([&] { add_part(checkpoint, name, unwrap(optimizer, "optimizer")); });
}

htone_status htone_checkpoint_add_grad_scaler(htone_checkpoint* checkpoint, const char* name,
                                              htone_grad_scaler* scaler) {
  return guard([&] { add_part(checkpoint, name, unwrap(scaler, "scaler")); });
}

htone_status htone_checkpoint_add_ema(htone_checkpoint* checkpoint, const char* name, htone_ema* ema) {
  return guard([&] { add_part(checkpoint, name, unwrap(ema, "ema")); });
}

htone_status htone_checkpoint_add_sampler(htone_checkpoint* checkpoint, const char* name, htone_sampler* sampler) {
  return guard([&] { add_part(checkpoint, name, unwrap(sampler, "sampler")); });
}

htone_status htone_checkpoint_add_state_dict(htone_checkpoint* checkpoint, const char* name,
                                             htone_state_dict* state_dict) {
  return guard([&] { add_part(checkpoint, name, unwrap(state_dict, "state_dict")); });
}

htone_status htone_checkpoint_save(htone_checkpoint* checkpoint, int64_t step) {
  return guard([&] { hold(checkpoint, "checkpoint")->save(step); });
}

htone_status htone_checkpoint_load(htone_checkpoint* checkpoint, int64_t* out_step) {
  return guard([&] {
    const Ref<trainer::Checkpoint> source = hold(checkpoint, "checkpoint");
    require(out_step, "out_step");
    *out_step = source->load();
  });
}

htone_status htone_checkpoint_latest(htone_checkpoint* checkpoint, int64_t* out_step) {
  return guard([&] {
    const Ref<trainer::Checkpoint> source = hold(checkpoint, "checkpoint");
    require(out_step, "out_step");
    *out_step = source->latest();
  });
}

htone_status htone_checkpoint_verify(htone_checkpoint* checkpoint, int64_t step) {
  return guard([&] {
    const Ref<trainer::Checkpoint> source = hold(checkpoint, "checkpoint");
    about("step", [&] { source->verify(step); });
  });
}

htone_status htone_safetensors_save(htone_context* context, const char* path, htone_state_dict* state_dict) {
  return guard([&] {
    const Ref<Context> owner = hold(context, "context");
    checked_path(path, "path");
    const Ref<SharedStateDict> shared = hold(state_dict, "state_dict");
    about("path", [&] { checkpoint::save_safetensors(owner->io(), path, shared->state, {}); });
  });
}

htone_status htone_safetensors_load(htone_device* device, const char* path, htone_state_dict** out) {
  return guard([&] {
    const Ref<DeviceReference> target = hold(device, "device");
    checked_path(path, "path");
    require(out, "out");
    about("path", [&] {
      const Io& io = target->context->io();
      wrap(out, make_ref<SharedStateDict>(checkpoint::load_safetensors(io, path, target->device)));
    });
  });
}
