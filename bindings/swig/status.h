// Turns a failed C call into a C++ exception, which each language's halftone_lang.i turns into an exception of that
// language. Included only by the generated wrappers. It has no state, so any thread may use it.
#ifndef HALFTONE_BINDINGS_STATUS_H
#define HALFTONE_BINDINGS_STATUS_H

#include "halftone/base.h"

namespace halftone_bindings {

// Carries the message by value: reporting an out-of-memory error must not allocate.
struct StatusError {
  htone_error_info info;
};

inline void check(htone_status status) {
  if (status == HTONE_OK) return;
  StatusError error{};
  error.info.struct_size = sizeof(error.info);
  htone_error_last(&error.info);
  error.info.status = status;
  throw error;
}

}  // namespace halftone_bindings

#endif
