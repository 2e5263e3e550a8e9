#include "halftone/comm.h"

#include <string>

#include "base/call.h"
#include "comm/group/group.h"
#include "comm/group/shared_store.h"
#include "comm/group_options.h"
#include "comm/handles.h"
#include "comm/seconds.h"
#include "runtime/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

int64_t heartbeat_nanoseconds(double seconds) {
  return seconds == 0 ? 0 : timeout_nanoseconds(seconds, "heartbeat_seconds");
}

void require_ranks(const htone_group_options& options) {
  if (options.size < 1 || options.size > kMaxGroupSize) {
    fail(Code::kInvalidArgument, "options", "options.size=%d, expected 1 to %d", options.size, kMaxGroupSize);
  }
  if (options.rank < 0 || options.rank >= options.size) {
    fail(Code::kInvalidArgument, "options", "options.rank=%d, expected 0 to %d", options.rank, options.size - 1);
  }
}

int32_t rank_of(const Group& group) { return group.process_group().rank(); }
int32_t size_of_group(const Group& group) { return group.process_group().size(); }
const char* kind_of(const Group& group) { return group.process_group().kind(); }
void abort_group(const Group& group, const char* reason) { group.process_group().abort(reason); }

htone_group_counters counters_of(const Group& group) {
  const GroupCounters counters = group.process_group().counters();
  return {.struct_size = sizeof(htone_group_counters),
          .reserved = 0,
          .operations = counters.operations,
          .messages_sent = counters.messages_sent,
          .bytes_sent = counters.bytes_sent,
          .bytes_received = counters.bytes_received};
}

// Operations may begin while this reads, so the text may have grown since it was measured.
std::string operations_of(const Group& group) {
  std::string text(group.process_group().describe_operations(nullptr, 0) + 256, '\0');
  const size_t length = group.process_group().describe_operations(text.data(), text.size());
  text.resize(std::min(length, text.size() - 1));
  return text;
}

}  // namespace

GroupOptions capi::group_settings(const htone_group_options& options) {
  return {.name = options.name != nullptr ? options.name : "world",
          .timeout_ns = timeout_nanoseconds(options.timeout_seconds, "timeout_seconds"),
          .heartbeat_ns = heartbeat_nanoseconds(options.heartbeat_seconds),
          .interface = options.interface_name,
          .checks_data = options.checks_data != 0 ? 1 : 0};
}

htone_status htone_group_create(htone_device* device, const char* kind, htone_store* store,
                                const htone_group_options* options, htone_group** out) {
  return guard([&] {
    const auto place = hold(device, "device");
    require_memory(kind, "kind");
    const Ref<SharedStore> entries = store != nullptr ? hold(store, "store").reference() : nullptr;
    const auto given = options_or_default<htone_group_options>(options, HTONE_GROUP_OPTIONS_INIT);
    // A rank with a wrong argument must fail before it meets the others, which would wait for it.
    require_memory(out, "out");
    require_ranks(given);
    GroupOptions settings = group_settings(given);
    settings.rank = given.rank;
    settings.size = given.size;
    const Ref<Group> group = make_ref<Group>(kind, *place, entries, settings);
    if (given.deterministic != 0) group->set_deterministic();
    give_handle(out, group);
  });
}

htone_status htone_group_split(htone_group* group, int32_t color, int32_t key, htone_group** out) {
  return guard([&] {
    const auto whole = hold(group, "group");
    require_memory(out, "out");
    const Ref<Group> part = whole->split(color, key);
    *out = nullptr;
    if (part) give_handle(out, part);
  });
}

htone_status htone_group_rank(htone_group* group, int32_t* out_rank) { return Call(rank_of, group, out_rank); }

htone_status htone_group_size(htone_group* group, int32_t* out_size) { return Call(size_of_group, group, out_size); }

htone_status htone_group_kind(htone_group* group, char* out, size_t capacity, size_t* out_length) {
  return Call(kind_of, group, text(out, capacity, out_length));
}

htone_status htone_group_abort(htone_group* group, const char* reason) { return Call(abort_group, group, reason); }

htone_status htone_group_read_counters(htone_group* group, htone_group_counters* out_counters) {
  return Call(counters_of, group, structure(out_counters, sizeof *out_counters));
}

htone_status htone_group_describe_operations(htone_group* group, char* out, size_t capacity, size_t* out_length) {
  return Call(operations_of, group, text(out, capacity, out_length));
}
