// The plugin's one function, which the library calls when the plugin is loaded.
#include "backend/plugin.h"

#include "cuda/base/warning.h"
#include "cuda/device.h"

extern "C" __attribute__((visibility("default"))) const halftone::PluginTable* halftone_plugin(
    const halftone::PluginHost* host) {
  static const halftone::PluginTable table = {
      .struct_size = sizeof(halftone::PluginTable),
      .reserved = 0,
      .build_id = halftone::build_id(),
      .name = "cuda",
      .device_name = "cuda",
      .create_device = halftone::cuda::create_device,
      .device_count = halftone::cuda::device_count,
      .group_name = nullptr,
      .create_group = nullptr,
      .store_name = nullptr,
      .create_store = nullptr,
  };
  if (host->struct_size != sizeof(halftone::PluginHost)) return nullptr;
  halftone::cuda::set_warning_receiver(host->log);
  return &table;
}
