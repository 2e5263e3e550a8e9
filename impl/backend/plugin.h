// The interface between the library and a plugin. A plugin is a shared object with one C function,
//   const halftone::PluginTable* halftone_plugin(const halftone::PluginHost*);
// It implements the interfaces of device.h and kernels.h, of comm/group/process_group.h, or both (all are header-only),
// compiles the objects of core that it needs into itself and does not link the library. Library and plugin must come
// from one build; the build ids are compared.
#pragma once

#include <cstdint>

#include "backend/device.h"

namespace halftone {

class ProcessGroup;   // comm/group/process_group.h
struct GroupOptions;  // comm/group/process_group.h
class KeyValueStore;  // comm/store.h
struct StoreOptions;  // comm/store.h

struct PluginHost {
  uint32_t struct_size;
  uint32_t reserved;
  const char* build_id;
  // Tells the embedding program a warning. Safe from any thread.
  void (*log)(const char* message) noexcept;
};

struct PluginTable {
  uint32_t struct_size;
  uint32_t reserved;
  const char* build_id;
  const char* name;         // for messages: "cuda"
  const char* device_name;  // the device kind that it serves: "cuda"; null if it serves none
  // Creates device `index` of its kind; returns DEVICE if there is none.
  Status (*create_device)(int32_t index, Device** out) noexcept;
  // The number of devices of its kind, which have the indices from 0 on; null if it serves no devices.
  int32_t (*device_count)() noexcept;
  const char* group_name;  // the kind of process groups that it serves: "nccl"; null if it serves none
  Status (*create_group)(const GroupOptions& options, ProcessGroup** out) noexcept;
  const char* store_name;  // the kind of stores that it serves: "tcp"; null if it serves none
  Status (*create_store)(const StoreOptions& options, KeyValueStore** out) noexcept;
};

using PluginEntry = const PluginTable* (*)(const PluginHost* host);
inline constexpr const char* kPluginSymbol = "halftone_plugin";

// Names the build that this object belongs to: version, compiler and a hash of the seam's headers (tools/hash_seam.py).
const char* build_id() noexcept;

}  // namespace halftone
