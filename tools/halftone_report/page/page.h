// The report: one page of HTML with all that it needs inside.
#pragma once

#include <span>
#include <string>

#include "record/run.h"

namespace halftone_report {

std::string page_of(std::span<const Run> runs);

}  // namespace halftone_report
