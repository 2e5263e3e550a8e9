#include "comm/group/registry.h"

#include <cstring>
#include <span>

#include "comm/group/groups.h"
#include "core/error.h"
#include "runtime/plugin_loader.h"

namespace halftone {
namespace {

using GroupFactory = Status (*)(const GroupOptions& options, ProcessGroup** out) noexcept;
using StoreFactory = Status (*)(const StoreOptions& options, KeyValueStore** out) noexcept;

template <class Factory>
struct BuiltIn {
  const char* kind;
  Factory create;
};

constexpr BuiltIn<GroupFactory> kGroups[] = {{"single", create_single_group},
                                             {"meta", create_meta_group},
                                             {"threads", create_threads_group},
                                             {"shared_memory", create_shared_memory_group}};
constexpr BuiltIn<StoreFactory> kStores[] = {{"memory", create_memory_store}, {"file", create_file_store}};

// Kinds that plugins of this project serve, for the message.
struct Known {
  const char* kind;
  const char* plugin;
};

constexpr Known kKnown[] = {
    {"gloo", "libhalftone_gloo.so"}, {"tcp", "libhalftone_gloo.so"}, {"nccl", "libhalftone_nccl.so"}};

// `served` and `create` are the members of a plugin's table. `noun` is for messages.
template <class Factory>
Factory find_factory(std::span<const BuiltIn<Factory>> built_in, const char* PluginTable::*served,
                     Factory PluginTable::*create, const char* noun, const char* kind, const Context& context) {
  for (const BuiltIn<Factory>& entry : built_in) {
    if (std::strcmp(kind, entry.kind) == 0) return entry.create;
  }
  for (const Plugin& plugin : context.plugins()) {
    const char* name = plugin.table->*served;
    if (name != nullptr && std::strcmp(kind, name) == 0) return plugin.table->*create;
  }
  for (const Known& known : kKnown) {
    if (std::strcmp(kind, known.kind) != 0) continue;
    fail(Code::kUnsupported, "kind", "%ss of the kind \"%s\" are in the plugin %s, which is not loaded", noun, kind,
         known.plugin);
  }
  fail(Code::kUnsupported, "kind", "there is no %s of the kind \"%.64s\", and no loaded plugin serves one", noun, kind);
}

GroupFactory find_group(const char* kind, const Context& context) {
  return find_factory<GroupFactory>(kGroups, &PluginTable::group_name, &PluginTable::create_group, "group", kind,
                                    context);
}

StoreFactory find_store(const char* kind, const Context& context) {
  return find_factory<StoreFactory>(kStores, &PluginTable::store_name, &PluginTable::create_store, "store", kind,
                                    context);
}

void check_options(const GroupOptions& options) {
  if (options.size < 1 || options.size > kMaxGroupSize) {
    fail(Code::kInvalidArgument, "size", "size is %d, expected 1 to %d", options.size, kMaxGroupSize);
  }
  if (options.rank < 0 || options.rank >= options.size) {
    fail(Code::kInvalidArgument, "rank", "rank is %d, expected 0 to %d", options.rank, options.size - 1);
  }
  if (options.timeout_ns <= 0) {
    fail(Code::kInvalidArgument, "timeout_ns", "timeout_ns is %lld, expected more than 0",
         static_cast<long long>(options.timeout_ns));
  }
  if (options.heartbeat_ns < 0) {
    fail(Code::kInvalidArgument, "heartbeat_ns", "heartbeat_ns is %lld, expected at least 0",
         static_cast<long long>(options.heartbeat_ns));
  }
  if (options.device == nullptr) fail(Code::kInvalidArgument, "device", "a group needs a device");
  if (options.name == nullptr) fail(Code::kInvalidArgument, "name", "a group needs a name");
}

}  // namespace

OwnedGroup create_group(const char* kind, const Context& context, const GroupOptions& options) {
  const GroupFactory create = find_group(kind, context);
  check_options(options);
  ProcessGroup* group = nullptr;
  check(create(options, &group));
  return OwnedGroup(group);
}

OwnedStore create_store(const char* kind, const Context& context, const StoreOptions& options) {
  KeyValueStore* store = nullptr;
  check(find_store(kind, context)(options, &store));
  return OwnedStore(store);
}

}  // namespace halftone
