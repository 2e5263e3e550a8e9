// The common part of the entries of plugins for groups and stores: the table, and the receiver of the log.
#pragma once

#include "backend/plugin.h"
#include "core/log.h"

namespace halftone {

// A table that serves nothing yet.
inline PluginTable empty_plugin_table(const char* name) noexcept {
  PluginTable table{};
  table.struct_size = sizeof table;
  table.build_id = build_id();
  table.name = name;
  return table;
}

// The plugin has a copy of the library's log, which passes everything to the library. Returns the table, or null if the
// library is of another build, or has no memory.
inline const PluginTable* enter_plugin(const PluginHost* host, const PluginTable& table) noexcept {
  using LogOfHost = void (*)(const char* message) noexcept;
  if (host->struct_size != sizeof *host) return nullptr;
  const auto hand_on = [](const char* message, void* user) { reinterpret_cast<LogOfHost>(user)(message); };
  try {
    set_log_receiver(hand_on, reinterpret_cast<void*>(host->log), nullptr);
  } catch (...) {
    return nullptr;
  }
  return &table;
}

}  // namespace halftone
