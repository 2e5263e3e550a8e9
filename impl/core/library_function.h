// Functions of libraries that are opened when they are first needed. Safe from any thread.
#pragma once

#include <dlfcn.h>

namespace halftone {

// Returns false if the library lacks the function.
template <class Function>
bool find_function(void* library, const char* name, Function& out) noexcept {
  out = reinterpret_cast<Function>(dlsym(library, name));
  return out != nullptr;
}

}  // namespace halftone
