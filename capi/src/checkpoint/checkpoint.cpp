#include "halftone/checkpoint.h"

#include "base/call.h"
#include "base/file_arguments.h"
#include "checkpoint/handles.h"
#include "comm/group/group.h"
#include "comm/handles.h"
#include "data/handles.h"
#include "nn/handles.h"
#include "nn/state_dict_handle.h"
#include "optim/handles.h"
#include "runtime/handles.h"
#include "resume/checkpoint.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

Ref<resume::Checkpoint> make_checkpoint(const Ref<Context>& context, const char* directory) {
  return about("directory", [&] { return make_ref<resume::Checkpoint>(context, directory); });
}

Ref<resume::Checkpoint> make_shared_checkpoint(const Ref<Context>& context, const char* directory,
                                                const Ref<Group>& group) {
  return about("directory", [&] { return make_ref<resume::Checkpoint>(context, directory, group); });
}

// The classes of most parts are incomplete here, which keeps their headers out: the checkpoint copies the reference.
template <class Object>
void add_part(resume::Checkpoint& checkpoint, const char* name, const Ref<Object>& object) {
  checkpoint.add(name, object);
}

int64_t load(resume::Checkpoint& checkpoint) { return checkpoint.load(); }

void verify(const resume::Checkpoint& checkpoint, int64_t step) {
  about("step", [&] { checkpoint.verify(step); });
}

}  // namespace

htone_status htone_checkpoint_create(htone_context* context, const char* directory, htone_checkpoint** out) {
  return Call(make_checkpoint, shared(context), as<file_path>(directory), out);
}

htone_status htone_checkpoint_create_shared(htone_context* context, const char* directory, htone_group* group,
                                            htone_checkpoint** out) {
  return Call(make_shared_checkpoint, shared(context), as<file_path>(directory), shared(group), out);
}

htone_status htone_checkpoint_add_module(htone_checkpoint* checkpoint, const char* name, htone_module* module) {
  return Call(add_part<nn::Module>, checkpoint, as<checked_name>(name), borrowed(module));
}

htone_status htone_checkpoint_add_optimizer(htone_checkpoint* checkpoint, const char* name,
                                            htone_optimizer* optimizer) {
  return Call(add_part<optim::Optimizer>, checkpoint, as<checked_name>(name), borrowed(optimizer));
}

htone_status htone_checkpoint_add_grad_scaler(htone_checkpoint* checkpoint, const char* name,
                                              htone_grad_scaler* scaler) {
  return Call(add_part<optim::GradScaler>, checkpoint, as<checked_name>(name), borrowed(scaler));
}

htone_status htone_checkpoint_add_ema(htone_checkpoint* checkpoint, const char* name, htone_ema* ema) {
  return Call(add_part<optim::Ema>, checkpoint, as<checked_name>(name), borrowed(ema));
}

htone_status htone_checkpoint_add_sampler(htone_checkpoint* checkpoint, const char* name, htone_sampler* sampler) {
  return Call(add_part<data::Sampler>, checkpoint, as<checked_name>(name), borrowed(sampler));
}

htone_status htone_checkpoint_add_state_dict(htone_checkpoint* checkpoint, const char* name,
                                             htone_state_dict* state_dict) {
  return Call(add_part<SharedStateDict>, checkpoint, as<checked_name>(name), borrowed(state_dict));
}

htone_status htone_checkpoint_save(htone_checkpoint* checkpoint, int64_t step) {
  return Call(&resume::Checkpoint::save, checkpoint, step);
}

htone_status htone_checkpoint_load(htone_checkpoint* checkpoint, int64_t* out_step) {
  return Call(load, checkpoint, out_step);
}

htone_status htone_checkpoint_latest(htone_checkpoint* checkpoint, int64_t* out_step) {
  return Call(&resume::Checkpoint::latest, checkpoint, out_step);
}

htone_status htone_checkpoint_verify(htone_checkpoint* checkpoint, int64_t step) {
  return Call(verify, checkpoint, step);
}
