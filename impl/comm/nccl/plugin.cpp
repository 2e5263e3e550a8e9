// The entry of libhalftone_nccl.so: groups of the kind "nccl".
#include "backend/plugin.h"

#include "comm/nccl/nccl_group.h"
#include "core/log.h"

namespace {

using LogOfHost = void (*)(const char* message) noexcept;

// The plugin has a copy of the library's log, which hands everything on.
void send_log_to(LogOfHost log) {
  const auto hand_on = [](const char* message, void* user) { reinterpret_cast<LogOfHost>(user)(message); };
  halftone::set_log_receiver(hand_on, reinterpret_cast<void*>(log), nullptr);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const halftone::PluginTable* halftone_plugin(
    const halftone::PluginHost* host) {
  static const halftone::PluginTable table = {.struct_size = sizeof(halftone::PluginTable),
                                              .reserved = 0,
                                              .build_id = halftone::build_id(),
                                              .name = "nccl",
                                              .device_name = nullptr,
                                              .create_device = nullptr,
                                              .device_count = nullptr,
                                              .group_name = "nccl",
                                              .create_group = halftone::nccl::create_nccl_group,
                                              .store_name = nullptr,
                                              .create_store = nullptr};
  if (host->struct_size != sizeof(halftone::PluginHost)) return nullptr;
  try {
    send_log_to(host->log);
  } catch (...) {
    return nullptr;
  }
  return &table;
}
