#include "halftone/partial_load.h"

#include "base/call.h"
#include "optim/state.h"
#include "tensor/factory.h"
#include "tensor/scalar_texts.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

optim::LoadOptions load_options(const htone_optimizer_load_options* options) {
  const htone_optimizer_load_options given =
      options_or_default(options, htone_optimizer_load_options(HTONE_OPTIMIZER_LOAD_OPTIONS_INIT));
  return {.strict = given.strict != 0, .keep_settings = given.keep_settings != 0};
}

int64_t load_with(trainer::Checkpoint& checkpoint, const optim::LoadOptions& options) {
  return checkpoint.load(options);
}

const std::vector<std::string>& names_of(const optim::LoadReport& report, htone_load_outcome outcome) {
  switch (outcome) {
    case HTONE_LOAD_DONE:
      return report.loaded;
    case HTONE_LOAD_FRESH:
      return report.fresh;
    case HTONE_LOAD_UNUSED:
      return report.unused;
    default:
      fail(Code::kInvalidArgument, "outcome", "outcome=%d, expected one of HTONE_LOAD_...", outcome);
  }
}

const std::string& name_at(const std::vector<std::string>& names, size_t index) {
  require_index(index, names.size());
  return names[index];
}

size_t loaded_count(const trainer::Checkpoint& checkpoint, htone_load_outcome outcome) {
  return names_of(checkpoint.report(), outcome).size();
}

std::string loaded_name(const trainer::Checkpoint& checkpoint, htone_load_outcome outcome, size_t index) {
  return name_at(names_of(checkpoint.report(), outcome), index);
}

// The keys of texts with an optimizer's scalars.
constexpr const char* kOptimizerLead = "optimizer.";

using SharedState = Ref<SharedStateDict>;

// The moments are copied: live ones would change while the texts stay.
SharedState optimizer_state(const optim::Optimizer& optimizer) {
  const StateDict state = optim::state_of(optimizer);
  StateDict copies;
  for (const StateTensor& entry : state.tensors()) {
    const Tensor moment = entry.reader ? in_memory(entry) : converted(entry.tensor, entry.dtype());
    copies.add_range(entry.name, moment, entry.global_shape(), entry.offset());
  }
  return make_ref<SharedStateDict>(std::move(copies), texts_of_scalars(state, kOptimizerLead));
}

StateDict with_scalars(const SharedState& shared) {
  StateDict state;
  for (const StateTensor& entry : shared->state.tensors()) state.add_entry(entry.name, entry);
  add_scalars(state, shared->texts, kOptimizerLead);
  return state;
}

// Tensors of a file are all read before the first write.
StagedLoad staged_optimizer(optim::Optimizer& optimizer, const SharedState& shared, const optim::LoadOptions& options) {
  const StateDict state = in_memory(with_scalars(shared));
  try {
    return optim::stage_state(optimizer, state, options);
  } catch (const Error& error) {
    if (error.code() != Code::kFormat) throw;
    fail(Code::kFormat, "state_dict", "state_dict does not fit optimizer: %s", error.what());
  }
}

void load_optimizer(optim::Optimizer& optimizer, const SharedState& shared, const optim::LoadOptions& options) {
  staged_optimizer(optimizer, shared, options)();
}

size_t match_count(const optim::Optimizer& optimizer, const SharedState& shared, htone_load_outcome outcome) {
  return names_of(optim::compare_parameters(optimizer, shared->state), outcome).size();
}

std::string match_name(const optim::Optimizer& optimizer, const SharedState& shared, htone_load_outcome outcome,
                       size_t index) {
  return name_at(names_of(optim::compare_parameters(optimizer, shared->state), outcome), index);
}

}  // namespace

htone_status htone_checkpoint_load_with(htone_checkpoint* checkpoint, const htone_optimizer_load_options* options,
                                        int64_t* out_step) {
  return Call(load_with, checkpoint, as<load_options>(options), out_step);
}

htone_status htone_checkpoint_loaded_count(htone_checkpoint* checkpoint, htone_load_outcome outcome,
                                           size_t* out_count) {
  return Call(loaded_count, checkpoint, outcome, out_count);
}

htone_status htone_checkpoint_loaded_name(htone_checkpoint* checkpoint, htone_load_outcome outcome, size_t index,
                                          char* out_name, size_t capacity, size_t* out_length) {
  return Call(loaded_name, checkpoint, outcome, index, text(out_name, capacity, out_length));
}

htone_status htone_optimizer_state_dict(htone_optimizer* optimizer, htone_state_dict** out) {
  return Call(optimizer_state, optimizer, out);
}

htone_status htone_optimizer_load_state_dict(htone_optimizer* optimizer, htone_state_dict* state_dict,
                                             const htone_optimizer_load_options* options) {
  return Call(load_optimizer, optimizer, shared(state_dict), as<load_options>(options));
}

htone_status htone_optimizer_match_count(htone_optimizer* optimizer, htone_state_dict* state_dict,
                                         htone_load_outcome outcome, size_t* out_count) {
  return Call(match_count, optimizer, shared(state_dict), outcome, out_count);
}

htone_status htone_optimizer_match_name(htone_optimizer* optimizer, htone_state_dict* state_dict,
                                        htone_load_outcome outcome, size_t index, char* out_name, size_t capacity,
                                        size_t* out_length) {
  return Call(match_name, optimizer, shared(state_dict), outcome, index, text(out_name, capacity, out_length));
}
