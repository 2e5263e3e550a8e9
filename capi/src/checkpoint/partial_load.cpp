#include "halftone/partial_load.h"

#include "base/call.h"
#include "checkpoint/handles.h"
#include "optim/load_report.h"
#include "resume/checkpoint.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

int64_t load_with(resume::Checkpoint& checkpoint, const optim::LoadOptions& options) {
  return checkpoint.load(options);
}

size_t loaded_count(const resume::Checkpoint& checkpoint, htone_load_outcome outcome) {
  return names_of(checkpoint.report(), outcome).size();
}

std::string loaded_name(const resume::Checkpoint& checkpoint, htone_load_outcome outcome, size_t index) {
  return name_at(names_of(checkpoint.report(), outcome), index);
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
