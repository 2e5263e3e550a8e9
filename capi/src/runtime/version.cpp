#include "halftone/version.h"

#include <cstdio>

#include "base/call.h"
#include "runtime/registry.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

std::string build_text() {
  char text[128];
  std::snprintf(text, sizeof text, "halftone " HTONE_VERSION_TEXT ", compiler %s, CPU kernels %s", __VERSION__,
                instruction_set());
  return text;
}

}  // namespace

int32_t htone_version(void) { return HTONE_VERSION_NUMBER; }

const char* htone_version_string(void) { return HTONE_VERSION_TEXT; }

htone_status htone_build_info(char* out_text, size_t capacity, size_t* out_length) {
  return Pure(build_text, text(out_text, capacity, out_length));
}
