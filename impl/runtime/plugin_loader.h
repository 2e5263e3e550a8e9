// Loads plugins: opens the shared object, asks it for its table, and compares the build ids.
#pragma once

#include "backend/plugin.h"

namespace halftone {

// A loaded plugin. It is never unloaded: code of its devices may run until the process ends.
struct Plugin {
  void* library;
  const PluginTable* table;
};

// Opens `path` and checks it. Throws IO, FORMAT or UNSUPPORTED; the message names the path.
Plugin open_plugin(const char* path);

}  // namespace halftone
