// The one place that names backends: the built-in ones, and those of loaded plugins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/host_memory.h"
#include "runtime/plugin_loader.h"

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

// A new device gets what it needs from these; `memory` outlives it.
struct DeviceSources {
  int num_threads;
  const HostMemory& memory;
  const std::vector<Plugin>& plugins;
};

// The instruction set of the CPU backend's kernels on this machine, such as "AVX2".
const char* instruction_set() noexcept;

// How the CPU backend multiplies BF16 matrices on this machine.
struct Bf16Products {
  bool is_native;  // the CPU has an instruction for products of BF16 numbers, and the backend a kernel with it
  bool is_used;    // the backend uses it: it was measured to be faster than widening to FP32
};
// The first call measures for some microseconds if the CPU has the instruction.
Bf16Products bf16_products() noexcept;

// A device that create_device makes.
struct KnownDevice {
  std::string name;  // "cpu", "cuda:0"
  DeviceKind kind;
};
// The CPU first, then those of the plugins. Makes none of them.
std::vector<KnownDevice> known_devices(const std::vector<Plugin>& plugins);

// Throws DEVICE with the name if no backend serves it.
Device* create_device(const DeviceName& name, const DeviceSources& sources);

}  // namespace halftone
