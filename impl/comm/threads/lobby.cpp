#include "comm/threads/lobby.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/error.h"

namespace halftone {
namespace {

// The hubs that some ranks have joined and others have not. A hub is found here while a rank is in it; the hub of a
// complete group is known to its ranks alone, so the names are free for another.
struct Lobby {
  using Key = std::pair<const KeyValueStore*, std::string>;
  std::mutex mutex;
  std::map<Key, Hub*> hubs;
};

// Never destroyed, because threads may leave their groups while the process ends.
Lobby& lobby() {
  static Lobby* const instance = new Lobby;
  return *instance;
}

// REQUIRES: the hub's mutex is held
void take_seat(Hub& hub, const GroupOptions& options) {
  if (hub.size != options.size) {
    fail(Code::kComm, "size", "rank %d creates the group \"%.64s\" with %d ranks, other ranks with %d",
         RankNames(options)[options.rank], options.name, options.size, hub.size);
  }
  Member& member = hub.member(options.rank);
  if (member.has_joined) {
    fail(Code::kComm, "rank", "rank %d of the group \"%.64s\" is taken", RankNames(options)[options.rank],
         options.name);
  }
  member.has_joined = true;
}

bool is_complete(const Hub& hub) {
  return std::all_of(hub.members.begin(), hub.members.end(), [](const Member& member) { return member.has_joined; });
}

bool is_deserted(const Hub& hub) {
  return std::all_of(hub.members.begin(), hub.members.end(),
                     [](const Member& member) { return !member.has_joined || member.has_left; });
}

}  // namespace

Ref<Hub> join_hub(const GroupOptions& options) {
  const std::lock_guard lock(lobby().mutex);
  const Lobby::Key key(options.store, options.name);
  const auto found = lobby().hubs.find(key);
  const Ref<Hub> hub = found != lobby().hubs.end() ? Ref<Hub>::share(found->second) : make_ref<Hub>(options.size);
  const std::lock_guard hub_lock(hub->mutex);
  if (found == lobby().hubs.end()) {
    if (options.size > 1) lobby().hubs.emplace(key, hub.get());
    take_seat(*hub, options);
  } else {
    take_seat(*hub, options);
    if (is_complete(*hub)) lobby().hubs.erase(found);
  }
  return hub;
}

void leave_hub(Hub& hub, int rank) noexcept {
  const std::lock_guard lock(lobby().mutex);
  const std::lock_guard hub_lock(hub.mutex);
  hub.member(rank).has_left = true;
  for (Member& member : hub.members) member.changed.notify_one();
  if (is_deserted(hub)) std::erase_if(lobby().hubs, [&](const auto& entry) { return entry.second == &hub; });
}

}  // namespace halftone
