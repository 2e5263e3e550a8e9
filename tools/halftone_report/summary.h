// One screen of text about a run as it is now.
#pragma once

#include <string>

#include "record/run.h"

namespace halftone_report {

struct Screen {
  int columns = 80, rows = 24;
  bool has_utf8 = false;
};

std::string summary_of(const Run& run, const Screen& screen);

}  // namespace halftone_report
