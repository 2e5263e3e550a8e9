// Prints the summary of a record in a terminal, once or whenever its file grows.
#pragma once

#include "options.h"

namespace halftone_report {

// Ends when the standard input or output is closed; Ctrl-C ends the process. Throws std::runtime_error where the record
// cannot be read.
void follow(const Options& options);

}  // namespace halftone_report
