// A save in which every rank of a group writes a file with the tensors, and the ranges of tensors, that it has. Every
// rank makes one and calls run() at the same place. The phases:
//  1. Every rank tells rank 0 which ranges it has; rank 0 decides who writes what (save_plan.h).
//  2. Rank 0 makes the folder of the step, and tells each rank its part of the plan.
//  3. Every rank writes its file and makes it durable.
//  4. Every rank sends the index of its file to rank 0, which merges them and publishes the checkpoint.
// A phase begins when all ranks have finished the one before. If any of them fails, all do: nothing is published, and
// rank 0 removes the files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/directory.h"
#include "comm/group/group.h"
#include "tensor/state_dict.h"

namespace halftone::resume {

class SharedSave {
 public:
  // REQUIRES: the arguments outlive the object.
  SharedSave(Group& group, checkpoint::Directory& directory, int64_t step, const StateDict& state)
      : group_(group), directory_(directory), state_(state), step_(step) {}

  // Scalars are those of rank 0. Throws as Directory::save does, and FORMAT naming the tensor if the ranges of all
  // ranks do not cover it, or overlap; on every rank, naming the rank that failed. If a rank is lost after the
  // checkpoint was published, the others get PEER_LOST although it exists.
  void run();

 private:
  bool is_first() const { return group_->rank() == 0; }
  checkpoint::SaveRank save_rank(std::string id) const;
  std::string held();
  std::vector<std::string> begin(const std::vector<std::string>& held);
  std::string write() const;
  StateDict own_part() const;

  Group& group_;
  checkpoint::Directory& directory_;
  const StateDict& state_;
  const int64_t step_;
  std::unique_ptr<checkpoint::Directory::Save> save_;  // on rank 0, while files are written
  std::string order_;                                  // from rank 0: the save's id, then this rank's part of the plan
};

}  // namespace halftone::resume
