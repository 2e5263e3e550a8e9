#include "halftone/checkpoint.h"

#include "base/call.h"
#include "checkpoint/safetensors.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

const char* file_path(const char* path, ArgumentName name) {
  if (require(path, name) == '\0') fail(Code::kInvalidArgument, name.text(), "%s is empty", name.text());
  return path;
}

// An error of a file names the argument that led to the file.
template <class Action>
auto about(const char* argument, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    if (error.argument()[0] != '\0') throw;
    throw Error(error.code(), error.native_code(), argument, error.what());
  }
}

Ref<trainer::Checkpoint> make_checkpoint(const Ref<Context>& context, const char* directory) {
  return about("directory", [&] { return make_ref<trainer::Checkpoint>(context, directory); });
}

template <class Object>
void add_part(trainer::Checkpoint& checkpoint, const char* name, const Ref<Object>& object) {
  checkpoint.add(name, object);
}

void verify(const trainer::Checkpoint& checkpoint, int64_t step) {
  about("step", [&] { checkpoint.verify(step); });
}

void save_safetensors(const Context& context, const char* path, const StateDict& state) {
  about("path", [&] { checkpoint::save_safetensors(context.io(), path, state, {}); });
}

Ref<SharedStateDict> load_safetensors(ContextDevice& device, const char* path) {
  return about("path", [&] {
    return make_ref<SharedStateDict>(checkpoint::load_safetensors(device.context->io(), path, device));
  });
}

}  // namespace

htone_status htone_checkpoint_create(htone_context* context, const char* directory, htone_checkpoint** out) {
  return Call(make_checkpoint, shared(context), as<file_path>(directory), out);
}

htone_status htone_checkpoint_add_module(htone_checkpoint* checkpoint, const char* name, htone_module* module) {
  return Call(add_part<nn::Module>, checkpoint, as<checked_name>(name), shared(module));
}

htone_status htone_checkpoint_add_optimizer(htone_checkpoint* checkpoint, const char* name,
                                            htone_optimizer* optimizer) {
  return Call(add_part<optim::Optimizer>, checkpoint, as<checked_name>(name), shared(optimizer));
}

htone_status htone_checkpoint_add_grad_scaler(htone_checkpoint* checkpoint, const char* name,
                                              htone_grad_scaler* scaler) {
  return Call(add_part<optim::GradScaler>, checkpoint, as<checked_name>(name), shared(scaler));
}

htone_status htone_checkpoint_add_ema(htone_checkpoint* checkpoint, const char* name, htone_ema* ema) {
  return Call(add_part<optim::Ema>, checkpoint, as<checked_name>(name), shared(ema));
}

htone_status htone_checkpoint_add_sampler(htone_checkpoint* checkpoint, const char* name, htone_sampler* sampler) {
  return Call(add_part<data::Sampler>, checkpoint, as<checked_name>(name), shared(sampler));
}

htone_status htone_checkpoint_add_state_dict(htone_checkpoint* checkpoint, const char* name,
                                             htone_state_dict* state_dict) {
  return Call(add_part<SharedStateDict>, checkpoint, as<checked_name>(name), shared(state_dict));
}

htone_status htone_checkpoint_save(htone_checkpoint* checkpoint, int64_t step) {
  return Call(&trainer::Checkpoint::save, checkpoint, step);
}

htone_status htone_checkpoint_load(htone_checkpoint* checkpoint, int64_t* out_step) {
  return Call(&trainer::Checkpoint::load, checkpoint, out_step);
}

htone_status htone_checkpoint_latest(htone_checkpoint* checkpoint, int64_t* out_step) {
  return Call(&trainer::Checkpoint::latest, checkpoint, out_step);
}

htone_status htone_checkpoint_verify(htone_checkpoint* checkpoint, int64_t step) {
  return Call(verify, checkpoint, step);
}

htone_status htone_safetensors_save(htone_context* context, const char* path, htone_state_dict* state_dict) {
  return Call(save_safetensors, context, as<file_path>(path), state_dict);
}

htone_status htone_safetensors_load(htone_device* device, const char* path, htone_state_dict** out) {
  return Call(load_safetensors, device, as<file_path>(path), out);
}
