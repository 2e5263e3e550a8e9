#include "runtime/registry.h"

#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "cpu/device.h"
#include "cpu/gemm/dot.h"
#include "cpu/gemm/dot_choice.h"
#include "cpu/instruction_set.h"
#include "cpu/meta_device.h"

namespace halftone {
namespace {

bool is_kind_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Truncate: the name is untrusted and must fit in the message.
[[noreturn]] void fail_on_garbage(const char* name) {
  fail(Code::kDevice, "name", "\"%.64s\" is not a device name: expected a kind and an index, as in \"cuda:0\"", name);
}

// "there are cpu, cuda:0", for messages.
std::string list_of_devices(const std::vector<Plugin>& plugins) {
  std::string text = "there are";
  const char* separator = " ";
  for (const KnownDevice& device : known_devices(plugins)) {
    text.append(separator).append(device.name);
    separator = ", ";
  }
  return text;
}

Device* create_cpu(const DeviceName& name, const DeviceSources& sources) {
  if (name.index != 0) {
    fail(Code::kDevice, "name", "there is no device \"cpu:%d\": the CPU is \"cpu\"; %s", name.index,
         list_of_devices(sources.plugins).c_str());
  }
  return cpu::create_device(sources.num_threads, sources.memory);
}

Device* create_meta(const DeviceName& name, const DeviceSources& sources) {
  if (name.index != 0) fail(Code::kDevice, "name", "there is no device \"meta:%d\": it is \"meta\"", name.index);
  return cpu::create_meta_device(sources.num_threads);
}

Device* create_from_plugin(const DeviceName& name, const PluginTable& table) {
  Device* device = nullptr;
  check(table.create_device(name.index, &device));
  return device;
}

}  // namespace

DeviceName::DeviceName(const char* name) {
  int length = 0;
  while (is_kind_character(name[length])) {
    if (length == kKindCapacity - 1) fail_on_garbage(name);
    kind[length] = name[length];
    ++length;
  }
  const std::string_view rest(name + length);
  if (length == 0 || (!rest.empty() && rest[0] != ':')) fail_on_garbage(name);
  if (rest.empty()) return;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), index);
  if (error != std::errc() || end != rest.data() + rest.size() || index < 0) fail_on_garbage(name);
}

const char* instruction_set() noexcept { return cpu::instruction_set(); }

Bf16Products bf16_products() noexcept { return {.is_native = cpu::has_dot(), .is_used = cpu::uses_dot()}; }

std::vector<KnownDevice> known_devices(const std::vector<Plugin>& plugins) {
  std::vector<KnownDevice> devices = {{.name = "cpu", .kind = DeviceKind::kCpu}};
  for (const Plugin& plugin : plugins) {
    const PluginTable& table = *plugin.table;
    if (table.device_name == nullptr) continue;
    const DeviceKind kind = std::strcmp(table.device_name, "cuda") == 0 ? DeviceKind::kCuda : DeviceKind::kOther;
    for (int32_t i = 0; i < table.device_count(); ++i) {
      std::string name = table.device_name;
      name.append(":").append(std::to_string(i));
      devices.push_back({.name = std::move(name), .kind = kind});
    }
  }
  return devices;
}

Device* create_device(const DeviceName& name, const DeviceSources& sources) {
  if (std::strcmp(name.kind, "cpu") == 0) return create_cpu(name, sources);
  if (std::strcmp(name.kind, "meta") == 0) return create_meta(name, sources);
  for (const Plugin& plugin : sources.plugins) {
    const char* served = plugin.table->device_name;
    if (served != nullptr && std::strcmp(name.kind, served) == 0) return create_from_plugin(name, *plugin.table);
  }
  if (const char* plugin = plugin_for_devices(name.kind); plugin != nullptr) {
    fail(Code::kDevice, "name", "there is no device \"%s:%d\": the plugin %s is not installed beside the library; %s",
         name.kind, name.index, plugin, list_of_devices(sources.plugins).c_str());
  }
  fail(Code::kDevice, "name",
       "there is no device \"%s:%d\": this build has no \"%s\" backend, and no loaded plugin serves one; %s", name.kind,
       name.index, name.kind, list_of_devices(sources.plugins).c_str());
}

}  // namespace halftone
