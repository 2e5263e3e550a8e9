#include "comm/control/roster.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>

#include "comm/control/notice.h"

namespace halftone {
namespace {

// Ranks of different builds must not exchange messages. Raise it when a message or an entry changes.
constexpr int kProtocolVersion = 1;
constexpr int kListedRanks = 8;
constexpr const char* kFormat =
    "version %d size %d timeout %" SCNd64 " heartbeat %" SCNd64 " checks %d process %d machine %64s";

int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string text_of(const RosterEntry& entry) {
  char text[256];
  std::snprintf(text, sizeof text, kFormat, entry.version, entry.size, entry.timeout_ns, entry.heartbeat_ns,
                entry.checks_data, entry.process, entry.machine);
  return text;
}

// The version stands first in every version's text.
bool parse(const std::string& text, RosterEntry* out) {
  const int fields = std::sscanf(text.c_str(), kFormat, &out->version, &out->size, &out->timeout_ns, &out->heartbeat_ns,
                                 &out->checks_data, &out->process, out->machine);
  return fields == 7 || (fields >= 1 && out->version != kProtocolVersion);
}

StoreValue value_of(const std::string& text) { return {.data = text.data(), .bytes = text.size()}; }

}  // namespace

Roster::Roster(const GroupOptions& options, int64_t deadline_ns)
    : options_(options),
      deadline_ns_(deadline_ns),
      own_{.version = kProtocolVersion,
           .size = options.size,
           .timeout_ns = options.timeout_ns,
           .heartbeat_ns = options.heartbeat_ns,
           .checks_data = options.checks_data,
           .process = getpid()} {
  gethostname(own_.machine, sizeof own_.machine - 1);
  if (own_.machine[0] == '\0') own_.machine[0] = '?';
}

std::string Roster::key(const char* kind) const { return std::string(options_.name) + "/" + kind; }
std::string Roster::key(const char* kind, int rank) const { return key(kind) + "/" + std::to_string(rank); }

int64_t Roster::left_ns() const noexcept { return std::max<int64_t>(deadline_ns_ - now_ns(), 0); }

Status Roster::get(const std::string& key, int64_t timeout_ns, std::string* out) const {
  out->resize(256);
  size_t bytes = 0;
  Status status = options_.store->get(key.c_str(), timeout_ns, out->data(), out->size(), &bytes);
  out->resize(bytes);
  if (status.code == Code::kBufferTooSmall) status = options_.store->get(key.c_str(), 0, out->data(), bytes, &bytes);
  return status;
}

Status Roster::meet() {
  if (Status status = claim(); !status.ok()) return status;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (rank == options_.rank) continue;
    std::string text;
    Status status = get(key("rank", rank), left_ns(), &text);
    if (status.code == Code::kTimeout) return missing();
    if (status.ok()) status = compare(rank, text);
    if (!status.ok()) return status;
  }
  return {};
}

Status Roster::claim() {
  const std::string own = text_of(own_);
  const std::string place = key("rank", options_.rank);
  int32_t swapped = 0;
  if (Status status = options_.store->compare_set(place.c_str(), {}, value_of(own), &swapped); !status.ok()) {
    return status;
  }
  if (swapped == 1) return {};
  std::string taken;
  Status status = get(place, 0, &taken);
  return status.ok() ? refuse_taken(taken) : status;
}

Status Roster::refuse_taken(const std::string& text) {
  if (Status status = compare(options_.rank, text); !status.ok()) return status;
  RosterEntry entry;
  parse(text, &entry);
  std::string formed;
  if (get(key("formed"), 0, &formed).ok()) {
    return Status::failure(Code::kState,
                           "the group \"%.64s\" was formed before, with process %d on %.32s as rank %d: ranks that are "
                           "restarted form a group with another name",
                           options_.name, entry.process, entry.machine, options_.rank);
  }
  return Status::failure(Code::kComm, "rank %d of the group \"%.64s\" is taken by process %d on %.32s", options_.rank,
                         options_.name, entry.process, entry.machine);
}

Status Roster::compare(int rank, const std::string& text) const {
  RosterEntry entry;
  if (!parse(text, &entry)) {
    return Status::failure(Code::kComm, "the store has no entry of rank %d of the group \"%.64s\", but other text",
                           rank, options_.name);
  }
  if (entry.version != own_.version) {
    return Status::failure(Code::kUnsupported,
                           "rank %d speaks version %d of the protocol between ranks, rank %d version %d", rank,
                           entry.version, options_.rank, own_.version);
  }
  const struct {
    const char* name;
    int64_t theirs;
    int64_t own;
  } settings[] = {{"size", entry.size, own_.size},
                  {"timeout_ns", entry.timeout_ns, own_.timeout_ns},
                  {"heartbeat_ns", entry.heartbeat_ns, own_.heartbeat_ns},
                  {"checks_data", entry.checks_data, own_.checks_data}};
  for (const auto& setting : settings) {
    if (setting.theirs == setting.own) continue;
    return Status::failure(Code::kComm,
                           "rank %d creates the group \"%.64s\" with %s %" PRId64 ", rank %d with %" PRId64,
                           options_.rank, options_.name, setting.name, setting.own, rank, setting.theirs);
  }
  return {};
}

Status Roster::missing() const {
  std::string list;
  int count = 0;
  for (int rank = 0; rank < options_.size; ++rank) {
    std::string text;
    if (rank == options_.rank || get(key("rank", rank), 0, &text).ok()) continue;
    if (++count <= kListedRanks) list += (count > 1 ? ", " : "") + std::to_string(rank);
  }
  if (count > kListedRanks) list += " and " + std::to_string(count - kListedRanks) + " more";
  return Status::failure(Code::kTimeout, "%s %s did not come to the group \"%.64s\" of %d until the deadline",
                         count == 1 ? "rank" : "ranks", list.c_str(), options_.name, options_.size);
}

Status Roster::publish(const char* kind, const std::string& own) {
  return options_.store->set(key(kind, options_.rank).c_str(), value_of(own));
}

Status Roster::read(const char* kind, int rank, std::string* out) {
  Status status = get(key(kind, rank), left_ns(), out);
  if (status.code != Code::kTimeout) return status;
  return Status::failure(Code::kPeerLost, "rank %d came to the group \"%.64s\", but did not connect until the deadline",
                         rank, options_.name);
}

Status Roster::blame(const Status& reason) noexcept {
  Notice notice(0, options_.rank, reason);
  const std::string place = key("abort");
  int32_t swapped = 0;
  size_t bytes = 0;
  Status status = options_.store->compare_set(place.c_str(), {}, {.data = &notice, .bytes = sizeof notice}, &swapped);
  if (!status.ok() || swapped == 1) return reason;
  status = options_.store->get(place.c_str(), 0, &notice, sizeof notice, &bytes);
  return status.ok() && bytes == sizeof notice ? notice.reason() : reason;
}

// Without the mark, a restarted rank is told that its place is taken, which is true as well.
void Roster::finish() noexcept {
  try {
    options_.store->set(key("formed").c_str(), {.data = "1", .bytes = 1});
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace halftone
