#include "trainer/training_state.h"

#include <utility>

#include "core/error.h"

namespace halftone::trainer {

namespace {

constexpr char kSeparator = '/';

// What stands under `part`, by its names without that.
StateDict part_of(const StateDict& state, const std::string& part) {
  const std::string lead = part + kSeparator;
  StateDict result;
  for (const StateTensor& entry : state.tensors()) {
    if (!entry.name.starts_with(lead)) continue;
    result.add_range(entry.name.substr(lead.size()), entry.tensor, entry.global_shape(), entry.offset());
  }
  for (const NamedScalar& scalar : state.scalars()) {
    if (scalar.name.starts_with(lead)) result.add(scalar.name.substr(lead.size()), scalar.value);
  }
  return result;
}

bool is_empty(const StateDict& state) { return state.tensors().empty() && state.scalars().empty(); }

// To the caller it is the checkpoint that does not fit, whatever a room calls it.
template <class Action>
auto of_part(const StatePart& part, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    if (error.code() == Code::kOutOfMemory || error.code() == Code::kDevice || error.code() == Code::kState) throw;
    fail(Code::kFormat, "", "the checkpoint does not fit %s: %s", part.name.c_str(), error.what());
  }
}

}  // namespace

void TrainingState::add(StatePart part) {
  if (part.name.empty() || part.name.find(kSeparator) != std::string::npos) {
    fail(Code::kInvalidArgument, "name", "name '%.64s' is empty or holds a slash", part.name.c_str());
  }
  for (const StatePart& other : parts_) {
    if (other.name == part.name) {
      fail(Code::kInvalidArgument, "name", "name %.64s stands for another part already", part.name.c_str());
    }
  }
  parts_.push_back(std::move(part));
}

StateDict TrainingState::read() const {
  StateDict state;
  for (const StatePart& part : parts_) {
    const std::string lead = part.name + kSeparator;
    const StateDict own = part.read();
    for (const StateTensor& entry : own.tensors()) {
      state.add_range(lead + entry.name, entry.tensor, entry.global_shape(), entry.offset());
    }
    for (const NamedScalar& scalar : own.scalars()) state.add(lead + scalar.name, scalar.value);
  }
  return state;
}

void TrainingState::load(const StateDict& state) const {
  std::vector<StateDict> states;  // live until the last write
  std::vector<StagedLoad> loads;
  states.reserve(parts_.size());
  for (const StatePart& part : parts_) {
    states.push_back(of_part(part, [&] { return part_of(state, part.name); }));
    if (is_empty(states.back())) {
      if (is_empty(part.read())) continue;  // a part that has nothing leaves no trace in a checkpoint
      fail(Code::kFormat, "", "the checkpoint has no part %s", part.name.c_str());
    }
    loads.push_back(of_part(part, [&] { return part.stage(states.back()); }));
  }
  for (const StagedLoad& load : loads) load();
}

}  // namespace halftone::trainer
