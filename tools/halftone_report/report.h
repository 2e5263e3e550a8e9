// Writes the page of some records.
#pragma once

#include "options.h"

namespace halftone_report {

// Throws std::runtime_error where a record cannot be read or the page cannot be written.
void report(const Options& options);

}  // namespace halftone_report
