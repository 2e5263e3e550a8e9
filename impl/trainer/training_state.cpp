#include "trainer/training_state.h"

#include <utility>

#include "core/error.h"

namespace halftone::trainer {

namespace {

constexpr char kSeparator = '/';

bool is_empty(const StateDict& state) { return state.tensors().empty() && state.scalars().empty(); }

// A layer may report a state that does not fit by any code. For the caller it means that the checkpoint does not fit.
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
  const auto [place, is_new] = places_.try_emplace(part.name, parts_.size());
  if (!is_new) fail(Code::kInvalidArgument, "name", "name %.64s is another part's already", part.name.c_str());
  try {
    parts_.push_back(std::move(part));
  } catch (...) {
    places_.erase(place);
    throw;
  }
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

// The place of the part that a name belongs to, and the name without the part's.
std::optional<std::pair<size_t, std::string>> TrainingState::split(const std::string& name) const {
  const size_t separator = name.find(kSeparator);
  if (separator == std::string::npos) return std::nullopt;
  const auto found = places_.find(name.substr(0, separator));
  if (found == places_.end()) return std::nullopt;
  return std::pair(found->second, name.substr(separator + 1));
}

std::vector<StateDict> TrainingState::split(const StateDict& state) const {
  std::vector<StateDict> states(parts_.size());
  for (const StateTensor& entry : state.tensors()) {
    if (auto own = split(entry.name)) {
      of_part(parts_[own->first], [&] {
        states[own->first].add_range(std::move(own->second), entry.tensor, entry.global_shape(), entry.offset());
      });
    }
  }
  for (const NamedScalar& scalar : state.scalars()) {
    if (auto own = split(scalar.name)) {
      of_part(parts_[own->first], [&] { states[own->first].add(std::move(own->second), scalar.value); });
    }
  }
  return states;
}

void TrainingState::load(const StateDict& state) const {
  const std::vector<StateDict> states = split(state);  // the staged loads refer to them
  std::vector<StagedLoad> loads;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const StatePart& part = parts_[i];
    if (is_empty(states[i])) {
      if (is_empty(part.read())) continue;  // an empty part writes nothing into a checkpoint
      fail(Code::kFormat, "", "the checkpoint has no part %s", part.name.c_str());
    }
    loads.push_back(of_part(part, [&] { return part.stage(states[i]); }));
  }
  for (const StagedLoad& load : loads) load();
}

}  // namespace halftone::trainer
