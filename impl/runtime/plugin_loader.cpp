#include "runtime/plugin_loader.h"

#include <dlfcn.h>

#include <cstring>

#include "core/error.h"
#include "core/foreign_function.h"
#include "core/log.h"

namespace halftone {
namespace {

void* open_library(const char* path) {
  const ForeignCall around;  // a library built with -ffast-math sets FTZ while it is loaded
  // RTLD_NOW: a missing symbol is an error here, not in the first kernel that needs it. RTLD_LOCAL: a plugin contains
  // objects of core, whose symbols must not mix with the library's.
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    fail(Code::kIo, "path", "cannot load the plugin %s: %s", path, reason != nullptr ? reason : "no reason given");
  }
  return library;
}

const PluginTable* ask_for_table(const char* path, void* library) {
  const auto entry = reinterpret_cast<PluginEntry>(dlsym(library, kPluginSymbol));
  if (entry == nullptr) fail(Code::kFormat, "path", "%s is not a plugin: it has no symbol %s", path, kPluginSymbol);
  const PluginHost host = {.struct_size = sizeof(PluginHost),
                           .reserved = 0,
                           .build_id = build_id(),
                           .log = [](const char* message) noexcept { log_warning("%s", message); }};
  const PluginTable* table = entry(&host);
  if (table == nullptr) {
    fail(Code::kUnsupported, "path", "the plugin %s rejects this library, whose build id is \"%s\"", path, build_id());
  }
  return table;
}

// struct_size, reserved and build_id come first in every version of the table, so they may be read before the versions
// are known to agree.
void check_table(const char* path, const PluginTable& table) {
  const char* other = table.build_id != nullptr ? table.build_id : "";
  if (table.struct_size != sizeof(PluginTable) || std::strcmp(other, build_id()) != 0) {
    fail(Code::kUnsupported, "path", "the plugin %s has the build id \"%s\", this library has \"%s\"", path, other,
         build_id());
  }
  const bool lacks_device =
      table.device_name != nullptr && (table.create_device == nullptr || table.device_count == nullptr);
  const bool lacks_group = table.group_name != nullptr && table.create_group == nullptr;
  const bool lacks_store = table.store_name != nullptr && table.create_store == nullptr;
  if (table.name == nullptr || lacks_device || lacks_group || lacks_store) {
    fail(Code::kFormat, "path", "the plugin %s has an incomplete table", path);
  }
}

}  // namespace

Plugin open_plugin(const char* path) {
  void* library = open_library(path);
  const PluginTable* table = ask_for_table(path, library);
  check_table(path, *table);
  return {.library = library, .table = table};
}

std::string path_beside_library(const char* plugin) {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&path_beside_library), &info) == 0 || info.dli_fname == nullptr) {
    return plugin;
  }
  const std::string own = info.dli_fname;
  const size_t slash = own.rfind('/');
  return slash == std::string::npos ? plugin : own.substr(0, slash + 1) + plugin;
}

const char* plugin_for_devices(const char* kind) noexcept {
  return std::strcmp(kind, "cuda") == 0 ? "libhalftone_cuda.so" : nullptr;
}

}  // namespace halftone
