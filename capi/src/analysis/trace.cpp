#include "halftone/trace.h"

#include "analysis/trace_file.h"
#include "base/call.h"
#include "base/file_arguments.h"
#include "core/trace.h"
#include "runtime/context.h"
#include "runtime/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

int64_t max_events_of(const htone_trace_options* options, ArgumentName) {
  const auto given = options_or_default(options, htone_trace_options(HTONE_TRACE_OPTIONS_INIT));
  if (given.max_events < 1) {
    fail(Code::kInvalidArgument, "options", "options.max_events=%lld, expected at least 1",
         static_cast<long long>(given.max_events));
  }
  return given.max_events;
}

void stop_and_write(const Context& context, const char* path) {
  Trace trace = stop_trace();
  try {
    about("path", [&] { analysis::write_trace(context.io(), path, trace); });
  } catch (...) {
    resume_trace(std::move(trace));
    throw;
  }
}

}  // namespace

htone_status htone_trace_start(const htone_trace_options* options) {
  return Call(start_trace, as<max_events_of>(options));
}

htone_status htone_trace_stop(htone_context* context, const char* path) {
  return Call(stop_and_write, context, as<file_path>(path));
}
