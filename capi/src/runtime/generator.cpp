#include "halftone/generator.h"

#include "base/call.h"
#include "runtime/context.h"
#include "runtime/handles.h"
#include "tensor/state_dict.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_generator_state generator_state(const Context& context) {
  htone_generator_state state = HTONE_GENERATOR_STATE_INIT;
  state.seed = context.seed();
  state.sequence = context.sequences_taken();
  state.microbatch = context.microbatches_taken();
  return state;
}

htone_generator_state checked_generator(const htone_generator_state* saved) {
  const auto given =
      options_or_default(&require(saved, "saved"), htone_generator_state(HTONE_GENERATOR_STATE_INIT), "saved");
  const auto require_count = [](const char* name, uint64_t count) {
    if (count <= static_cast<uint64_t>(kLargestCount)) return;
    fail(Code::kInvalidArgument, "saved", "saved.%s=%llu, expected at most 2^62", name,
         static_cast<unsigned long long>(count));
  };
  require_count("sequence", given.sequence);
  require_count("microbatch", given.microbatch);
  return given;
}

void set_generator_state(Context& context, const htone_generator_state& state) {
  context.set_generator(state.seed, state.sequence);
  context.set_microbatches_taken(state.microbatch);
}

void set_seed(Context& context, uint64_t seed) {
  htone_generator_state state = HTONE_GENERATOR_STATE_INIT;
  state.seed = seed;
  set_generator_state(context, state);
}

}  // namespace

htone_status htone_context_set_seed(htone_context* context, uint64_t seed) { return Call(set_seed, context, seed); }

htone_status htone_context_generator_state(htone_context* context, htone_generator_state* out_state) {
  return Pure(generator_state, context, structure(out_state));
}

htone_status htone_context_set_generator_state(htone_context* context, const htone_generator_state* saved) {
  return Call(set_generator_state, context, as<checked_generator>(saved));
}
