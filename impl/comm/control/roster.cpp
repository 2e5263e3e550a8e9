#include "comm/control/roster.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "comm/control/notice.h"
#include "comm/control/process_place.h"
#include "comm/guarded.h"

namespace halftone {
namespace {

// Ranks of different builds must not exchange messages. Raise it when a message or an entry changes.
constexpr int kProtocolVersion = 3;
constexpr int kListedRanks = 8;
// A rank that waits looks this often for the end of the group, and if the processes of so many ranks after it still
// run.
constexpr int64_t kLookNs = 200'000'000;
constexpr int kWatchedRanks = 8;
constexpr std::chrono::seconds kLinger{3};
constexpr const char* kFormat =
    "version %d size %d timeout %" SCNd64 " heartbeat %" SCNd64 " checks %d process %d machine %64s place %63s";

int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string text_of(const RosterEntry& entry) {
  char text[320];
  std::snprintf(text, sizeof text, kFormat, entry.version, entry.size, entry.timeout_ns, entry.heartbeat_ns,
                entry.checks_data, entry.process, entry.machine, entry.place);
  return text;
}

// The version stands first in every version's text.
bool parse(const std::string& text, RosterEntry* out) {
  const int fields = std::sscanf(text.c_str(), kFormat, &out->version, &out->size, &out->timeout_ns, &out->heartbeat_ns,
                                 &out->checks_data, &out->process, out->machine, out->place);
  return fields == 8 || (fields >= 1 && out->version != kProtocolVersion);
}

// An error of this rank alone is none of the others'.
bool concerns_all(const Status& reason) noexcept {
  return reason.code == Code::kComm || reason.code == Code::kPeerLost || reason.code == Code::kTimeout;
}

Status reason_for_others(int rank, const Status& reason) noexcept {
  if (concerns_all(reason)) return reason;
  return Status::failure(Code::kPeerLost, "rank %d failed while the group was created: %.180s", rank, reason.message);
}

StoreValue value_of(const std::string& text) { return {.data = text.data(), .bytes = text.size()}; }

}  // namespace

Roster::Roster(const GroupOptions& options, int64_t deadline_ns)
    : options_(options),
      deadline_ns_(deadline_ns),
      names_(options),
      own_{.version = kProtocolVersion,
           .size = options.size,
           .timeout_ns = options.timeout_ns,
           .heartbeat_ns = options.heartbeat_ns,
           .checks_data = options.checks_data,
           .process = getpid()} {
  gethostname(own_.machine, sizeof own_.machine - 1);
  if (own_.machine[0] == '\0') own_.machine[0] = '?';
  std::snprintf(own_.place, sizeof own_.place, "%s", process_place().c_str());
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
  if (Status status = claim(); !status.ok()) return serves_ ? blame(status) : status;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (rank == options_.rank) continue;
    std::string text;
    Status status = await(key("rank", rank), &text);
    if (status.code == Code::kTimeout) status = missing();
    if (status.ok()) status = compare(rank, text);
    if (!status.ok()) return blame(status);
  }
  return {};
}

// Returns TIMEOUT at the deadline alone.
Status Roster::await(const std::string& key, std::string* out) {
  for (;;) {
    const int64_t left = left_ns();
    const Status status = get(key, std::min(left, kLookNs), out);
    if (status.code != Code::kTimeout) return status.ok() ? status : lost_with_store(status);
    if (Status ended = look(); !ended.ok() || left == 0) return ended.ok() ? status : ended;
  }
}

// Returns the reason for which another rank has ended the group, or PEER_LOST if a rank has ended. An error of the
// store is left to the next call.
Status Roster::look() {
  Notice notice;
  size_t bytes = 0;
  const Status status = options_.store->get(key("abort").c_str(), 0, &notice, sizeof notice, &bytes);
  if (status.ok() && bytes == sizeof notice) return notice.reason();
  find_server();
  return find_ended();
}

Status Roster::find_ended() const {
  for (int distance = 1; distance <= std::min(kWatchedRanks, options_.size - 1); ++distance) {
    const int rank = (options_.rank + distance) % options_.size;
    std::string text;
    RosterEntry entry;
    if (!get(key("rank", rank), 0, &text).ok() || !parse(text, &entry)) continue;
    if (std::string_view(entry.place) != own_.place || !has_ended(entry.process)) continue;
    return Status::failure(Code::kPeerLost, "rank %d is lost: its process ended while the group \"%.64s\" was created",
                           names_[rank], options_.name);
  }
  return {};
}

// The rank whose process serves the store tells its number.
void Roster::find_server() {
  if (!has_server_ || server_rank_ >= 0) return;
  std::string text;
  if (get(key("server"), 0, &text).ok()) server_rank_ = std::atoi(text.c_str());
}

// A store that a process serves ends with the process.
Status Roster::lost_with_store(const Status& status) const noexcept {
  const bool is_lost = status.code == Code::kPeerLost || status.code == Code::kIo || status.code == Code::kTimeout;
  if (!has_server_ || !is_lost) return status;
  if (server_rank_ < 0) {
    return Status::failure(Code::kPeerLost, "the process that serves the store is lost: %.150s", status.message);
  }
  return Status::failure(Code::kPeerLost, "rank %d is lost, and with it the store that it serves: %.150s",
                         names_[server_rank_], status.message);
}

Status Roster::claim() {
  const std::string own = text_of(own_);
  const std::string place = key("rank", options_.rank);
  std::string server;
  has_server_ = get(kServerProcess, 0, &server).ok();
  serves_ = has_server_ && server == std::string(own_.place) + " " + std::to_string(own_.process);
  find_server();
  int32_t swapped = 0;
  if (Status status = options_.store->compare_set(place.c_str(), {}, value_of(own), &swapped); !status.ok()) {
    return lost_with_store(status);
  }
  if (swapped == 1 && serves_)
    return options_.store->set(key("server").c_str(), value_of(std::to_string(options_.rank)));
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
                           options_.name, entry.process, entry.machine, names_[options_.rank]);
  }
  return Status::failure(Code::kComm, "rank %d of the group \"%.64s\" is taken by process %d on %.32s",
                         names_[options_.rank], options_.name, entry.process, entry.machine);
}

Status Roster::compare(int rank, const std::string& text) const {
  RosterEntry entry;
  if (!parse(text, &entry)) {
    return Status::failure(Code::kComm, "the store has no entry of rank %d of the group \"%.64s\", but other text",
                           names_[rank], options_.name);
  }
  if (entry.version != own_.version) {
    return Status::failure(Code::kUnsupported,
                           "rank %d speaks version %d of the protocol between ranks, rank %d version %d", names_[rank],
                           entry.version, names_[options_.rank], own_.version);
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
    const bool own_first = names_[options_.rank] <= names_[rank];
    return Status::failure(
        Code::kComm, "rank %d creates the group \"%.64s\" with %s %" PRId64 ", rank %d with %" PRId64,
        names_[own_first ? options_.rank : rank], options_.name, setting.name, own_first ? setting.own : setting.theirs,
        names_[own_first ? rank : options_.rank], own_first ? setting.theirs : setting.own);
  }
  return {};
}

Status Roster::missing() const {
  std::string list;
  int count = 0;
  for (int rank = 0; rank < options_.size; ++rank) {
    std::string text;
    if (rank == options_.rank) continue;
    const Status status = get(key("rank", rank), 0, &text);
    if (status.ok()) continue;
    if (status.code != Code::kTimeout || status.native_code == ETIMEDOUT) return lost_with_store(status);
    if (++count <= kListedRanks) list += (count > 1 ? ", " : "") + std::to_string(names_[rank]);
  }
  if (count > kListedRanks) list += " and " + std::to_string(count - kListedRanks) + " more";
  return Status::failure(Code::kTimeout, "%s %s did not come to the group \"%.64s\" of %d until the deadline",
                         count == 1 ? "rank" : "ranks", list.c_str(), options_.name, options_.size);
}

Status Roster::publish(const char* kind, const std::string& own) {
  return options_.store->set(key(kind, options_.rank).c_str(), value_of(own));
}

Status Roster::read(const char* kind, int rank, std::string* out) {
  const Status status = await(key(kind, rank), out);
  if (status.code != Code::kTimeout) return status;
  return Status::failure(Code::kPeerLost, "rank %d came to the group \"%.64s\", but did not connect until the deadline",
                         names_[rank], options_.name);
}

Status Roster::blame(const Status& reason) noexcept {
  Status result = reason;
  static_cast<void>(guarded([&] {
    const Notice own(0, options_.rank, reason_for_others(names_[options_.rank], reason));
    const std::string place = key("abort");
    int32_t swapped = 0;
    if (!options_.store->compare_set(place.c_str(), {}, {.data = &own, .bytes = sizeof own}, &swapped).ok()) return;
    Notice first;
    size_t bytes = 0;
    const bool is_first = swapped == 1 || !options_.store->get(place.c_str(), 0, &first, sizeof first, &bytes).ok();
    if (!is_first && bytes == sizeof first && concerns_all(reason)) result = first.reason();
    linger();
  }));
  return result;
}

// The store must not end before the ranks that came know the reason.
void Roster::linger() {
  if (!publish("told", "1").ok() || !serves_) return;
  const auto end = std::chrono::steady_clock::now() + kLinger;
  for (int rank = 0; rank < options_.size; ++rank) {
    while (is_waiting(rank) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

bool Roster::is_waiting(int rank) const {
  std::string text;
  RosterEntry entry;
  if (!get(key("rank", rank), 0, &text).ok() || !parse(text, &entry)) return false;
  if (std::string_view(entry.place) == own_.place && has_ended(entry.process)) return false;
  return !get(key("told", rank), 0, &text).ok();
}

// Without the mark, a restarted rank is told that its place is taken, which is true as well.
void Roster::finish() noexcept {
  try {
    options_.store->set(key("formed").c_str(), {.data = "1", .bytes = 1});
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace halftone
