#include "comm/launch/launched_group.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "comm/registry.h"
#include "core/error.h"
#include "runtime/plugin_loader.h"

namespace halftone {
namespace {

constexpr const char* kGlooPlugin = "libhalftone_gloo.so";

bool serves_gloo(const Plugin& plugin) {
  return plugin.table->group_name != nullptr && std::strcmp(plugin.table->group_name, "gloo") == 0;
}

void load_gloo(Context& context) {
  const std::vector<Plugin> plugins = context.plugins();
  if (std::any_of(plugins.begin(), plugins.end(), serves_gloo)) return;
  context.load_plugin(path_beside_library(kGlooPlugin).c_str());
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("localhost:") || address.starts_with("[::1]:");
}

OwnedStore open_tcp_store(Context& context, const Launch& launch, int64_t timeout_ns) {
  if (launch.address.empty()) {
    fail(Code::kInvalidArgument, "", "%s started %d processes and named no store: set MASTER_ADDR and MASTER_PORT",
         launch.launcher.c_str(), launch.size);
  }
  if (launch.secret.empty() && !is_loopback(launch.address)) {
    fail(Code::kInvalidArgument, "",
         "the store %s can be reached by strangers: set HALFTONE_SECRET to one text for all", launch.address.c_str());
  }
  load_gloo(context);
  return create_store("tcp", context,
                      {.address = launch.address.c_str(),
                       .is_server = launch.rank == 0 ? 1 : 0,
                       .secret = {launch.secret.data(), launch.secret.size()},
                       .timeout_ns = timeout_ns});
}

OwnedStore open_store(Context& context, const Launch& launch, int64_t timeout_ns) {
  if (launch.path.empty()) return open_tcp_store(context, launch, timeout_ns);
  return create_store("file", context, {.address = launch.path.c_str(), .timeout_ns = timeout_ns});
}

}  // namespace

Ref<Group> create_launched_group(ContextDevice& device, const Launch& launch, GroupOptions options) {
  options.rank = launch.rank;
  options.size = launch.size;
  if (launch.size == 1) return make_ref<Group>("single", device, nullptr, options);
  std::string kind = launch.group;
  if (kind.empty()) kind = launch.path.empty() ? "gloo" : "shared_memory";
  const Ref<SharedStore> store = make_ref<SharedStore>(open_store(*device.context, launch, options.timeout_ns));
  if (kind == "gloo") load_gloo(*device.context);
  return make_ref<Group>(kind.c_str(), device, store, options);
}

}  // namespace halftone
