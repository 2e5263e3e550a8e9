// The name of the argument at fault of a failed call, in the words of a language. Included only by the generated
// wrappers, each of which has the table of its language (bindings/generator/argument_names.py). It has no state.
#ifndef HALFTONE_BINDINGS_ARGUMENT_NAMES_H
#define HALFTONE_BINDINGS_ARGUMENT_NAMES_H

#include <stddef.h>
#include <string.h>

#include "halftone/base.h"

namespace ht {

struct ArgumentNames {
  const char* function;
  const char* names;  // in the order of C; each ends with a zero, and the last with two
};

// A message begins with the function. Returns "" if no single argument is at fault.
template <size_t count>
const char* argument_name(const ArgumentNames (&rows)[count], const htone_error_info& info) {
  const char* const end = strchr(info.message, ':');
  if (end == nullptr || info.argument_index < 0) return "";
  const size_t length = size_t(end - info.message);
  for (const ArgumentNames& row : rows) {
    if (strncmp(row.function, info.message, length) != 0 || row.function[length] != '\0') continue;
    const char* name = row.names;
    for (int32_t left = info.argument_index; left > 0 && *name != '\0'; --left) name += strlen(name) + 1;
    return name;
  }
  return "";
}

}  // namespace ht

#endif
