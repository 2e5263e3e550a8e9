// The ranks of a group over NCCL tell each other three things through its store, since NCCL neither compares their
// calls nor tells who is late: the reason of a failure, each rank's calls, and how far a rank has come when it gives
// up. Used by one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "comm/collectives/header.h"
#include "comm/control/notice.h"
#include "comm/store.h"

namespace halftone::nccl {

class Board {
 public:
  // Reads the options during creation alone. A group of one rank has no store.
  explicit Board(const GroupOptions& options);

  // Puts the notice there unless one is; returns that which is there. The same for all ranks while the store works.
  Notice settle(const Notice& own) noexcept;
  // Returns false if there is none.
  bool read_notice(Notice* out) noexcept;
  // Compares a call with that of the rank that came to the same place first. Returns COMM, as compare(). Waits for no
  // rank. `peer` is the other rank of a message.
  Status compare_call(const Header& own, int32_t peer) noexcept;
  // Publishes that this rank reached operation `position`, waits briefly, and returns ranks that have not published it;
  // no more than a few.
  std::vector<int32_t> find_missing(uint64_t position) noexcept;

 private:
  std::string key(const char* kind) const { return name_ + "/" + kind; }
  std::string key_of_call(const Header& header, int32_t peer) const;

  KeyValueStore* const store_;
  const std::string name_;
  const RankNames names_;
  const int32_t rank_;
  const int32_t size_;
};

}  // namespace halftone::nccl
