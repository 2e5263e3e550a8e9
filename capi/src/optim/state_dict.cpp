#include "base/call.h"
#include "halftone/partial_load.h"
#include "nn/state_dict_handle.h"
#include "optim/handles.h"
#include "optim/load_report.h"
#include "optim/state.h"
#include "optim/state_copy.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

using OptimizerRef = Ref<optim::Optimizer>;

void load_state(const OptimizerRef& optimizer, const Ref<SharedStateDict>& copy, const optim::LoadOptions& options) {
  optim::load_copy(optimizer, *copy, options);
}

size_t match_count(const OptimizerRef& optimizer, const StateDict& state, htone_load_outcome outcome) {
  return names_of(optim::compare_parameters(*optimizer, state), outcome).size();
}

std::string match_name(const OptimizerRef& optimizer, const StateDict& state, htone_load_outcome outcome,
                       size_t index) {
  return name_at(names_of(optim::compare_parameters(*optimizer, state), outcome), index);
}

}  // namespace

htone_status htone_optimizer_state_dict(htone_optimizer* optimizer, htone_state_dict** out) {
  return Call(optim::copy_state, borrowed(optimizer), out);
}

htone_status htone_optimizer_load_state_dict(htone_optimizer* optimizer, htone_state_dict* state_dict,
                                             const htone_optimizer_load_options* options) {
  return Call(load_state, borrowed(optimizer), shared(state_dict), as<load_options>(options));
}

htone_status htone_optimizer_match_count(htone_optimizer* optimizer, htone_state_dict* state_dict,
                                         htone_load_outcome outcome, size_t* out_count) {
  return Call(match_count, borrowed(optimizer), state_dict, outcome, out_count);
}

htone_status htone_optimizer_match_name(htone_optimizer* optimizer, htone_state_dict* state_dict,
                                        htone_load_outcome outcome, size_t index, char* out_name, size_t capacity,
                                        size_t* out_length) {
  return Call(match_name, borrowed(optimizer), state_dict, outcome, index, text(out_name, capacity, out_length));
}
