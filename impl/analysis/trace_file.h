// Writes a trace as JSON in the Trace Event Format of Chrome, which Perfetto and chrome://tracing open:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include <string>

#include "core/io.h"
#include "core/trace.h"

namespace halftone::analysis {

// A complete file takes the place of the one at `path`, if there is one. Throws IO, OUT_OF_MEMORY.
void write_trace(const Io& io, const std::string& path, const Trace& trace);

}  // namespace halftone::analysis
