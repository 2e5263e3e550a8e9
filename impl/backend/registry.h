// The one place that names backends: the built-in ones, and those of loaded plugins.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device.h"
#include "backend/host_memory.h"
#include "backend/plugin.h"
#include "backend/thread_pool.h"

namespace halftone {

// A device name, parsed: "cuda:1" is kind "cuda" and index 1; "cuda" is "cuda:0".
struct DeviceName {
  static constexpr int kKindCapacity = 24;

  // Throws DEVICE with the name unless it is letters, digits and underscores, followed by nothing or by a colon and a
  // number.
  explicit DeviceName(const char* name);
  friend bool operator==(const DeviceName& a, const DeviceName& b) = default;

  char kind[kKindCapacity] = {};
  int32_t index = 0;
};

// A new device gets what it needs from these; all of them outlive it.
struct DeviceSources {
  ThreadPool& pool;
  const HostMemory& memory;
  const std::vector<Plugin>& plugins;
};

// Throws DEVICE with the name if no backend serves it.
Device* create_device(const DeviceName& name, const DeviceSources& sources);

}  // namespace halftone
