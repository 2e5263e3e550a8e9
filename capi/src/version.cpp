#include "halftone/version.h"

#include <cstdio>

#include "arguments.h"
#include "backend/cpu/instruction_set.h"
#include "guard.h"

using namespace halftone;
using namespace halftone::capi;

int32_t htone_version(void) { return HTONE_VERSION; }

htone_status htone_build_info(char* out_text, size_t capacity, size_t* out_length) {
  return guard([&] {
    char text[128];
    std::snprintf(text, sizeof text, "halftone %d.%d.%d, compiler %s, CPU kernels %s", HTONE_VERSION_MAJOR,
                  HTONE_VERSION_MINOR, HTONE_VERSION_PATCH, __VERSION__, cpu::instruction_set());
    copy_text(text, out_text, "out_text", capacity, out_length);
  });
}
