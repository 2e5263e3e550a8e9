// The one place that knows which backends there are: those built in and those that plugins brought.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device.h"
#include "backend/host_memory.h"
#include "backend/plugin.h"
#include "backend/thread_pool.h"

namespace halftone {

// "cuda:1" taken apart; "cuda" is "cuda:0".
struct DeviceName {
  static constexpr int kKindCapacity = 24;

  // Throws DEVICE naming `name` where it is not letters, digits and underscores, then nothing or a colon and a number.
  explicit DeviceName(const char* name);
  friend bool operator==(const DeviceName& a, const DeviceName& b) = default;

  char kind[kKindCapacity] = {};
  int32_t index = 0;
};

// What a device is made with and of; all outlive it.
struct DeviceSources {
  ThreadPool& pool;
  const HostMemory& memory;
  const std::vector<Plugin>& plugins;
};

// Throws DEVICE naming `name` where no backend serves it.
Device* create_device(const DeviceName& name, const DeviceSources& sources);

}  // namespace halftone
