#include "halftone/version.h"

#include <cstdio>

#include "base/call.h"
#include "runtime/registry.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

std::string build_text() {
  char text[128];
  std::snprintf(text, sizeof text, "halftone %d.%d.%d, compiler %s, CPU kernels %s", HTONE_VERSION_MAJOR,
                HTONE_VERSION_MINOR, HTONE_VERSION_PATCH, __VERSION__, instruction_set());
  return text;
}

}  // namespace

int32_t htone_version(void) { return HTONE_VERSION; }

htone_status htone_build_info(char* out_text, size_t capacity, size_t* out_length) {
  return Pure(build_text, text(out_text, capacity, out_length));
}
