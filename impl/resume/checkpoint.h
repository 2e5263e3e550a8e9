// Saves and loads a training run in a directory of checkpoints, of one process or of the ranks of a group: then every
// rank calls each function, and an error of one rank is an error of all. If the ranks hold the same state, rank 0 alone
// writes. If some entries are ranges of tensors, every rank writes what it has (shared_save.h). One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "comm/group/group.h"
#include "optim/load_options.h"
#include "runtime/context.h"

namespace halftone {
class StagedLoad;  // tensor/staged_load.h
class StateDict;   // tensor/state_dict.h
}  // namespace halftone
namespace halftone::checkpoint {
class Directory;  // checkpoint/directory.h
}

namespace halftone::resume {

class TrainingState;  // resume/training_state.h

class Checkpoint final : public RefCounted {
 public:
  // Locks the directory. The context's count of random sequences is always one of the parts. Throws IO, STATE.
  Checkpoint(Ref<Context> context, const std::string& directory);
  // Rank 0 locks the directory for all ranks, which must see the same files. Throws the error of any rank.
  Checkpoint(Ref<Context> context, const std::string& directory, Ref<Group> group);

  ~Checkpoint() override;

  // Object is one of the classes of PartObject (resume/training_state.h), which a caller need not include.
  template <class Object>
  void add(std::string name, const Ref<Object>& object);

  // These throw as those of Directory do, and INVALID_ARGUMENT for a step below 0. save() throws STATE after a load
  // that failed half-way.
  void save(int64_t step);
  void verify(int64_t step) const;
  // Returns the step; -1 if there is no checkpoint. The checkpoint is read twice: all of it is verified and compared
  // with the parts before the first write, and then each tensor is read into its place. If only the second reading
  // fails, the error says that the state was partly loaded; after every other error nothing has changed. Each rank of
  // a group verifies a share of the newest checkpoint; then it reads the parts of tensors that overlap its own ranges,
  // and its own random sequences. Any number of ranks may have written it. `options` are of all optimizers.
  int64_t load(const optim::LoadOptions& options = {});
  // The parameters of optimizers that the last successful load found.
  const optim::LoadReport& report() const noexcept { return report_; }
  // The newest step, complete or not; -1 if there is none. Ranks need not call it together.
  int64_t latest() const;

 private:
  bool is_alone() const { return !group_ || (*group_)->size() == 1; }
  bool is_writer() const { return is_alone() || (*group_)->rank() == 0; }
  void open(const std::string& directory);
  void require_whole() const;
  int64_t load_newest(StateDict* out);
  int64_t load_alone(const optim::LoadOptions& options);
  int64_t load_together(const optim::LoadOptions& options);
  int64_t open_together(StateDict* out);
  bool is_whole_on_all(int64_t step, bool is_last, StateDict* out);
  StagedLoad staged(const StateDict& state, const optim::LoadOptions& options, optim::LoadReport* report);
  void save_together(int64_t step);
  void save_by_first(int64_t step, const StateDict& state);
  void commit(const StagedLoad& load);

  Ref<Context> context_;
  Ref<Group> group_;  // null for one process
  std::unique_ptr<checkpoint::Directory> directory_;
  std::unique_ptr<TrainingState> state_;
  optim::LoadReport report_;
  bool is_partly_loaded_ = false;  // the parts are a mix of two states
};

}  // namespace halftone::resume
