#include "resume/checkpoint.h"

#include <algorithm>
#include <utility>

#include "checkpoint/directory.h"
#include "comm/group/agreement.h"
#include "core/error.h"
#include "core/log.h"
#include "resume/shared_save.h"
#include "resume/training_state.h"

namespace halftone::resume {

namespace {

void require_step(int64_t step) {
  if (step < 0) fail(Code::kInvalidArgument, "step", "step=%lld is below 0", static_cast<long long>(step));
}

std::string seed_name(size_t rank) { return "random/rank-" + std::to_string(rank) + "/seed"; }
std::string sequences_name(size_t rank) { return "random/rank-" + std::to_string(rank) + "/streams"; }

void warn_of_damage(const std::vector<int64_t>& damaged, int64_t loaded) {
  for (int64_t step : damaged) {
    log_warning("the checkpoint of step %lld is damaged; that of step %lld is loaded", static_cast<long long>(step),
                static_cast<long long>(loaded));
  }
}

int64_t has_ranges(const StateDict& state) {
  return std::any_of(state.tensors().begin(), state.tensors().end(),
                     [](const StateTensor& entry) { return entry.range != nullptr; });
}

void require_same_step(const std::vector<Numbers>& ranks) {
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank][0] == ranks[0][0]) continue;
    fail(Code::kComm, "step", "rank 0 saves step %lld, rank %zu step %lld", static_cast<long long>(ranks[0][0]), rank,
         static_cast<long long>(ranks[rank][0]));
  }
}

}  // namespace

Checkpoint::Checkpoint(Ref<Context> context, const std::string& directory)
    : Checkpoint(std::move(context), directory, nullptr) {}

Checkpoint::Checkpoint(Ref<Context> context, const std::string& directory, Ref<Group> group)
    : context_(std::move(context)), group_(std::move(group)), state_(std::make_unique<TrainingState>()) {
  open(directory);
  state_->add("random", context_);
}

Checkpoint::~Checkpoint() = default;

template <class Object>
void Checkpoint::add(std::string name, const Ref<Object>& object) {
  state_->add(std::move(name), object);
}
template void Checkpoint::add(std::string, const Ref<nn::Module>&);
template void Checkpoint::add(std::string, const Ref<optim::Optimizer>&);
template void Checkpoint::add(std::string, const Ref<optim::GradScaler>&);
template void Checkpoint::add(std::string, const Ref<optim::Ema>&);
template void Checkpoint::add(std::string, const Ref<data::Sampler>&);
template void Checkpoint::add(std::string, const Ref<SharedStateDict>&);

// Rank 0 makes the directory, so the others look for it afterwards.
void Checkpoint::open(const std::string& directory) {
  const auto open_to_write = [&] {
    directory_ = std::make_unique<checkpoint::Directory>(context_->io(), context_->clock(), directory);
  };
  if (is_alone()) return open_to_write();
  agree_on(*group_, [&] {
    if (is_writer()) open_to_write();
    return Numbers{};
  });
  agree_on(*group_, [&] {
    if (!is_writer()) {
      directory_ = checkpoint::Directory::for_reading(context_->io(), context_->clock(), directory);
    }
    return Numbers{};
  });
}

void Checkpoint::require_whole() const {
  if (!is_partly_loaded_) return;
  fail(Code::kState, "checkpoint", "a load failed half-way, so the state is a mix of two; load again before a save");
}

void Checkpoint::save(int64_t step) {
  if (!is_alone()) return save_together(step);
  require_step(step);
  require_whole();
  directory_->save(step, state_->read());
}

// All ranks have the same scalars, and rank 0 writes them; but for the random sequences, which rank 0 adds.
void Checkpoint::save_together(int64_t step) {
  StateDict state;
  const std::vector<Numbers> ranks = agree_on(*group_, [&] {
    require_step(step);
    require_whole();
    state = state_->read();
    return Numbers{step, static_cast<int64_t>(context_->seed()), static_cast<int64_t>(context_->sequences_taken()),
                   has_ranges(state)};
  });
  agree_on(*group_, [&] {
    require_same_step(ranks);
    if (!is_writer()) return Numbers{};
    for (size_t rank = 1; rank < ranks.size(); ++rank) {
      state.add(seed_name(rank), ranks[rank][1]);
      state.add(sequences_name(rank), ranks[rank][2]);
    }
    return Numbers{};
  });
  const bool is_shared = std::any_of(ranks.begin(), ranks.end(), [](const Numbers& rank) { return rank[3] != 0; });
  if (is_shared) return SharedSave(*group_, *directory_, step, state).run();
  save_by_first(step, state);
}

void Checkpoint::save_by_first(int64_t step, const StateDict& state) {
  agree_on(*group_, [&] {
    if (is_writer()) directory_->save(step, state);
    return Numbers{};
  });
}

void Checkpoint::verify(int64_t step) const {
  require_step(step);
  directory_->verify(step);
}

int64_t Checkpoint::latest() const {
  const std::vector<int64_t> steps = directory_->steps();
  return steps.empty() ? -1 : steps.back();
}

int64_t Checkpoint::load(const optim::LoadOptions& options) {
  return is_alone() ? load_alone(options) : load_together(options);
}

// Returns the step; -1 if there is no checkpoint.
int64_t Checkpoint::load_newest(StateDict* out) {
  auto loaded = directory_->load_latest(context_->device("cpu"));
  if (!loaded) return -1;
  warn_of_damage(loaded->damaged, loaded->step);
  *out = std::move(loaded->state);
  return loaded->step;
}

int64_t Checkpoint::load_alone(const optim::LoadOptions& options) {
  StateDict state;
  const int64_t step = load_newest(&state);
  if (step < 0) return -1;
  optim::LoadReport report;
  StagedLoad load = staged(state, options, &report);
  load.prepare();
  commit(load);
  report_ = std::move(report);
  return step;
}

// No rank changes anything before every rank can.
int64_t Checkpoint::load_together(const optim::LoadOptions& options) {
  StateDict state;
  const int64_t step = open_together(&state);
  if (step < 0) return -1;
  StagedLoad load;
  optim::LoadReport report;
  agree_on(*group_, [&] {
    load = staged(state, options, &report);
    load.prepare();
    return Numbers{};
  });
  agree_on(*group_, [&] {
    commit(load);
    return Numbers{};
  });
  report_ = std::move(report);
  return step;
}

// Opens the newest checkpoint that verifies, of those that rank 0 finds. Returns its step; -1 if there is none.
int64_t Checkpoint::open_together(StateDict* out) {
  std::vector<int64_t> steps;  // on rank 0
  std::vector<int64_t> damaged;
  agree_on(*group_, [&] {
    if (is_writer()) steps = directory_->steps();
    return Numbers{};
  });
  for (;;) {
    const Numbers chosen = agree_on(*group_, [&] {
      return steps.empty() ? Numbers{-1, 0} : Numbers{steps.back(), steps.size() == 1};
    })[0];
    const int64_t step = chosen[0];
    if (step < 0) return step;
    if (is_whole_on_all(step, chosen[1] != 0, out)) {
      if (is_writer()) warn_of_damage(damaged, step);
      return step;
    }
    damaged.push_back(step);
    if (is_writer()) steps.pop_back();
  }
}

// Each rank verifies a share, so that each byte is read once. Returns false if a share is damaged: each rank must learn
// this in the same way, so it is no error, unless this is the last checkpoint.
bool Checkpoint::is_whole_on_all(int64_t step, bool is_last, StateDict* out) {
  const std::vector<Numbers> damages = agree_on(*group_, [&] {
    try {
      const checkpoint::Share share = {.rank = (*group_)->rank(), .world_size = (*group_)->size()};
      *out = directory_->load_share(step, context_->device("cpu"), share);
      return Numbers{};
    } catch (const Error& error) {
      if (error.code() != Code::kFormat || is_last) throw;
      return Numbers{1};
    }
  });
  if (std::any_of(damages.begin(), damages.end(), [](const Numbers& rank) { return rank[0] != 0; })) return false;
  directory_->mark_whole(step);
  return true;
}

// A rank that the checkpoint does not know keeps its seed, and goes on where rank 0 does.
StagedLoad Checkpoint::staged(const StateDict& state, const optim::LoadOptions& options, optim::LoadReport* report) {
  const uint64_t own_seed = context_->seed();
  StagedLoad load = state_->stage(state, options, report);
  if (is_writer()) return load;
  const size_t rank = static_cast<size_t>((*group_)->rank());
  const StateScalar* seed = state.find_scalar(seed_name(rank));
  const StateScalar* sequences = state.find_scalar(sequences_name(rank));
  if (seed != nullptr && sequences != nullptr && std::holds_alternative<int64_t>(*seed) &&
      std::holds_alternative<int64_t>(*sequences)) {
    const auto saved_seed = static_cast<uint64_t>(std::get<int64_t>(*seed));
    const auto saved_sequences = static_cast<uint64_t>(std::get<int64_t>(*sequences));
    load.add([this, saved_seed, saved_sequences] { context_->set_generator(saved_seed, saved_sequences); });
  } else {
    load.add([this, own_seed] { context_->set_generator(own_seed, context_->sequences_taken()); });
  }
  return load;
}

void Checkpoint::commit(const StagedLoad& load) {
  is_partly_loaded_ = true;
  load.commit_or_tell("the state");
  is_partly_loaded_ = false;
}

}  // namespace halftone::resume
