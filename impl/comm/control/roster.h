// Brings the ranks of a group over a network together: each puts its entry into the store, and compares those of the
// others with its own, before any connects. Used by one thread, while a group is created.
#pragma once

#include <string>

#include "comm/group/rank_names.h"
#include "comm/store.h"

namespace halftone {

// One rank's entry, in the store as text.
struct RosterEntry {
  int version = 0;  // of the protocol between ranks
  int size = 0;
  int64_t timeout_ns = 0;
  int64_t heartbeat_ns = 0;
  int checks_data = 0;
  int process = 0;
  char machine[65] = {};
  char place[64] = {};  // process_place()
};

class Roster {
 public:
  Roster(const GroupOptions& options, int64_t deadline_ns);

  // "NAME/KIND/RANK", or "NAME/KIND".
  std::string key(const char* kind, int rank) const;
  std::string key(const char* kind) const;

  // Takes this rank's place and waits for the others. Returns
  //   COMM         the rank is taken, or ranks were given other options
  //   STATE        a group of this name was formed before: this rank was restarted
  //   UNSUPPORTED  a rank has another version
  //   PEER_LOST    a rank has ended, or given up
  //   TIMEOUT      with the ranks that did not come
  // and has told the others then, but for a rank that is taken: they go on without this one.
  Status meet();
  // Exchanges `own` for a rank's text of the same kind. PEER_LOST if a rank that came gives none.
  Status publish(const char* kind, const std::string& own);
  Status read(const char* kind, int rank, std::string* out);
  // Tells the others why the group ends before it is formed. Returns the reason of the first rank that did. A rank that
  // serves the store gives the others a moment to read it.
  Status blame(const Status& reason) noexcept;
  // Marks the name as used.
  void finish() noexcept;

  int64_t left_ns() const noexcept;

 private:
  Status claim();
  Status refuse_taken(const std::string& text);
  Status compare(int rank, const std::string& text) const;
  Status missing() const;
  Status get(const std::string& key, int64_t timeout_ns, std::string* out) const;
  Status await(const std::string& key, std::string* out);
  Status look();
  Status find_ended() const;
  void find_server();
  Status lost_with_store(const Status& status) const noexcept;
  void linger();
  // Came, and has neither ended nor been told why the group does.
  bool is_waiting(int rank) const;

  const GroupOptions& options_;
  const int64_t deadline_ns_;  // on the steady clock
  const RankNames names_;
  RosterEntry own_;
  bool serves_ = false;      // the store
  bool has_server_ = false;  // a process serves the store
  int server_rank_ = -1;     // the rank of that process, if it has come
};

}  // namespace halftone
