#include "comm/launch/launched_group.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "comm/group/registry.h"
#include "comm/group/shared_store.h"
#include "core/error.h"
#include "runtime/plugin_loader.h"

namespace halftone {
namespace {

// Loads the plugin of a kind of groups that a plugin serves.
void load_plugin_of(const std::string& kind, Context& context) {
  if (kind != "gloo" && kind != "nccl") return;
  const auto serves = [&](const Plugin& plugin) {
    return plugin.table->group_name != nullptr && plugin.table->group_name == kind;
  };
  const std::vector<Plugin> plugins = context.plugins();
  if (std::any_of(plugins.begin(), plugins.end(), serves)) return;
  context.load_plugin(path_beside_library(("libhalftone_" + kind + ".so").c_str()).c_str());
}

std::string kind_of(const ContextDevice& device, const Launch& launch) {
  if (device.device->kind() == DeviceKind::kCuda) return "nccl";
  if (launch.size == 1) return "single";
  if (!launch.group.empty()) return launch.group;
  return launch.path.empty() ? "gloo" : "shared_memory";
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
  load_plugin_of("gloo", context);
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
  const std::string kind = kind_of(device, launch);
  load_plugin_of(kind, *device.context);
  Ref<SharedStore> store;
  if (launch.size > 1) store = make_ref<SharedStore>(open_store(*device.context, launch, options.timeout_ns));
  return make_ref<Group>(kind.c_str(), device, store, options);
}

}  // namespace halftone
