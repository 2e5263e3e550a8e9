// What a plugin exports and what it is given. A plugin is a shared object with one C function,
//   const halftone::PluginTable* halftone_plugin(const halftone::PluginHost* host);
// It implements the interfaces of device.h and kernels.h (both header-only), compiles the objects of core that it needs
// into itself and does not link the library. Host and plugin must come from one build: the build id decides.
#pragma once

#include <cstdint>

#include "backend/device.h"

namespace halftone {

struct PluginHost {
  uint32_t struct_size;
  uint32_t reserved;
  const char* build_id;
};

struct PluginTable {
  uint32_t struct_size;
  uint32_t reserved;
  const char* build_id;
  const char* name;         // for messages: "cuda"
  const char* device_name;  // the device kind it serves: "cuda"; null where it serves none
  // Creates device `index` of its kind; DEVICE where there is none.
  Status (*create_device)(int32_t index, Device** out) noexcept;
};

using PluginEntry = const PluginTable* (*)(const PluginHost* host);
inline constexpr const char* kPluginSymbol = "halftone_plugin";

// The build this object belongs to: version, compiler and the seams' layout.
const char* build_id() noexcept;

// A plugin that is loaded. It is never unloaded: its devices' code may run until the process ends.
struct Plugin {
  void* library;
  const PluginTable* table;
};

// Opens `path` and checks it. Throws IO, FORMAT or UNSUPPORTED; the message names the path.
Plugin open_plugin(const char* path);

}  // namespace halftone
