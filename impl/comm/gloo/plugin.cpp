// The entry of libhalftone_gloo.so: groups of the kind "gloo" and stores of the kind "tcp".
#include "backend/plugin.h"

#include "comm/gloo/gloo_group.h"
#include "comm/tcp_store/tcp_store.h"
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
                                              .name = "gloo",
                                              .device_name = nullptr,
                                              .create_device = nullptr,
                                              .device_count = nullptr,
                                              .group_name = "gloo",
                                              .create_group = halftone::create_gloo_group,
                                              .store_name = "tcp",
                                              .create_store = halftone::create_tcp_store};
  if (host->struct_size != sizeof(halftone::PluginHost)) return nullptr;
  try {
    send_log_to(host->log);
  } catch (...) {
    return nullptr;
  }
  return &table;
}
