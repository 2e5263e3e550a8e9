// Arguments that name files. Used by the sources that save and load.
#pragma once

#include "base/arguments.h"

namespace halftone::capi {

inline const char* file_path(const char* path, ArgumentName name) {
  if (require(path, name) == '\0') fail(Code::kInvalidArgument, name.text(), "%s is empty", name.text());
  return path;
}

// An error of a file names the argument that led to the file.
template <class Action>
auto about(const char* argument, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    if (error.argument()[0] != '\0') throw;
    throw Error(error.code(), error.native_code(), argument, error.what());
  }
}

}  // namespace halftone::capi
