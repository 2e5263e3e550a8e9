// The deferred device of tests/plugin, which runs work only when the program waits for it, and its switches. Used from
// one thread.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

#include "runtime/context.h"

namespace halftone {

inline ContextDevice& deferred_device(Context& context) {
  context.load_plugin(DEFERRED_PLUGIN);
  return context.device("deferred");
}

template <class Function>
Function* deferred_function(const char* name) {
  void* const plugin = dlopen(DEFERRED_PLUGIN, RTLD_NOW);
  void* const function = plugin == nullptr ? nullptr : dlsym(plugin, name);
  if (function == nullptr) std::abort();
  return reinterpret_cast<Function*>(function);
}

// The number of waits for streams and events so far.
inline int64_t deferred_waits() { return deferred_function<int64_t()>("deferred_plugin_waits")(); }

// While it lives, a wait for one stream runs all other streams first, instead of only as far as events demand.
class OthersFirst {
 public:
  OthersFirst() { set(1); }
  ~OthersFirst() { set(0); }
  OthersFirst(const OthersFirst&) = delete;
  OthersFirst& operator=(const OthersFirst&) = delete;

 private:
  static void set(int32_t is_first) { deferred_function<void(int32_t)>("deferred_plugin_run_others_first")(is_first); }
};

}  // namespace halftone
