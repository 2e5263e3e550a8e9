// Loads plugins: opens the shared object, asks it for its table, and compares the build ids.
#pragma once

#include <string>

#include "backend/plugin.h"

namespace halftone {

// A loaded plugin. It is never unloaded: code of its devices may run until the process ends.
struct Plugin {
  void* library;
  const PluginTable* table;
};

// Opens `path` and checks it. Throws IO, FORMAT or UNSUPPORTED; the message names the path.
Plugin open_plugin(const char* path);

// The place of plugins of this project: beside the library, or beside a program that contains it.
std::string path_beside_library(const char* plugin);

// The plugin of this project that serves a kind of devices, such as "cuda"; null if there is none.
const char* plugin_for_devices(const char* kind) noexcept;

}  // namespace halftone
