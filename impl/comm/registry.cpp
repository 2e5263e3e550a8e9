#include "comm/registry.h"

#include <cstring>

#include "comm/groups.h"
#include "core/error.h"

namespace halftone {
namespace {

using Factory = Status (*)(const GroupOptions& options, ProcessGroup** out) noexcept;

struct BuiltIn {
  const char* kind;
  Factory create;
};

constexpr BuiltIn kBuiltIn[] = {{"single", create_single_group}, {"threads", create_threads_group}};

// Kinds that plugins of this project serve, for the message.
struct Known {
  const char* kind;
  const char* plugin;
};

constexpr Known kKnown[] = {{"gloo", "libhalftone_gloo.so"}, {"nccl", "libhalftone_cuda.so"}};

Factory find_factory(const char* kind, const Context& context) {
  for (const BuiltIn& group : kBuiltIn) {
    if (std::strcmp(kind, group.kind) == 0) return group.create;
  }
  for (const Plugin& plugin : context.plugins()) {
    const char* served = plugin.table->group_name;
    if (served != nullptr && std::strcmp(kind, served) == 0) return plugin.table->create_group;
  }
  for (const Known& group : kKnown) {
    if (std::strcmp(kind, group.kind) != 0) continue;
    fail(Code::kUnsupported, "kind", "groups of the kind \"%s\" are in the plugin %s, which is not loaded", kind,
         group.plugin);
  }
  fail(Code::kUnsupported, "kind", "there is no group of the kind \"%.64s\", and no loaded plugin serves one", kind);
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
  if (options.device == nullptr) fail(Code::kInvalidArgument, "device", "a group needs a device");
  if (options.name == nullptr) fail(Code::kInvalidArgument, "name", "a group needs a name");
}

}  // namespace

OwnedGroup create_group(const char* kind, const Context& context, const GroupOptions& options) {
  const Factory create = find_factory(kind, context);
  check_options(options);
  ProcessGroup* group = nullptr;
  check(create(options, &group));
  return OwnedGroup(group);
}

OwnedStore create_store() {
  KeyValueStore* store = nullptr;
  check(create_memory_store(&store));
  return OwnedStore(store);
}

}  // namespace halftone
