#include "resume/training_state.h"

#include "core/error.h"
#include "data/state.h"
#include "nn/state.h"
#include "optim/state.h"

namespace halftone::resume {

namespace {

constexpr char kSeparator = '/';
// The names in the files.
constexpr const char* kSeed = "seed";
constexpr const char* kSequences = "streams";
constexpr const char* kMicrobatches = "microbatches";

bool is_empty(const StateDict& state) { return state.tensors().empty() && state.scalars().empty(); }

// ---- The state of objects without a room of their own. The others have state_of and stage_state in their rooms.

StateDict state_of(const Context& context) {
  StateDict state;
  state.add(kSeed, static_cast<int64_t>(context.seed()));
  state.add(kSequences, static_cast<int64_t>(context.sequences_taken()));
  state.add(kMicrobatches, static_cast<int64_t>(context.microbatches_taken()));
  return state;
}

uint64_t number_in(const StateDict& state, const char* name, const char* what) {
  const StateScalar* number = state.find_scalar(name);
  if (number == nullptr || !std::holds_alternative<int64_t>(*number)) fail(Code::kFormat, "", "%s is missing", what);
  return static_cast<uint64_t>(std::get<int64_t>(*number));
}

StagedLoad stage_state(Context& context, const StateDict& state) {
  const uint64_t seed = number_in(state, kSeed, "the seed of random sequences");
  const uint64_t sequences = number_in(state, kSequences, "the count of random sequences");
  // Checkpoints of earlier versions have no such number.
  const bool has_microbatches = state.find_scalar(kMicrobatches) != nullptr;
  const uint64_t microbatches =
      has_microbatches ? number_in(state, kMicrobatches, "the count of microbatches") : uint64_t{0};
  StagedLoad load;
  load.add([&context, seed, sequences, microbatches] {
    context.set_generator(seed, sequences);
    context.set_microbatches_taken(microbatches);
  });
  return load;
}

StateDict state_of(const SharedStateDict& shared) { return shared.state; }
StagedLoad stage_state(SharedStateDict& shared, const StateDict& state) { return stage_copy(shared.state, state); }

// ---- The state of any object

StateDict state_of(const PartObject& object) {
  return std::visit([](const auto& part) { return state_of(*part); }, object);
}

StagedLoad stage_state(const PartObject& object, const StateDict& state, const optim::LoadOptions& options,
                       optim::LoadReport* report) {
  if (const auto* optimizer = std::get_if<Ref<optim::Optimizer>>(&object)) {
    return optim::stage_state(**optimizer, state, options, report);
  }
  return std::visit([&](const auto& part) { return stage_state(*part, state); }, object);
}

void add_names(const std::string& part, const std::vector<std::string>& names, std::vector<std::string>& out) {
  for (const std::string& name : names) out.push_back(part + kSeparator + name);
}

// A layer may report a state that does not fit by any code. For the caller it means that the checkpoint does not fit.
template <class Action>
auto of_part(const std::string& name, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    if (error.code() == Code::kOutOfMemory || error.code() == Code::kDevice || error.code() == Code::kState) throw;
    fail(Code::kFormat, "", "the checkpoint does not fit %s: %s", name.c_str(), error.what());
  }
}

}  // namespace

void TrainingState::add(std::string name, PartObject object) {
  if (name.empty() || name.find(kSeparator) != std::string::npos) {
    fail(Code::kInvalidArgument, "name", "name '%.64s' is empty or holds a slash", name.c_str());
  }
  const auto [place, is_new] = places_.try_emplace(name, parts_.size());
  if (!is_new) fail(Code::kInvalidArgument, "name", "name %.64s is another part's already", name.c_str());
  try {
    parts_.push_back({.name = std::move(name), .object = std::move(object)});
  } catch (...) {
    places_.erase(place);
    throw;
  }
}

StateDict TrainingState::read() const {
  StateDict state;
  for (const Part& part : parts_) {
    const std::string lead = part.name + kSeparator;
    const StateDict own = state_of(part.object);
    for (const StateTensor& entry : own.tensors()) state.add_entry(lead + entry.name, entry);
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
      of_part(parts_[own->first].name, [&] { states[own->first].add_entry(std::move(own->second), entry); });
    }
  }
  for (const NamedScalar& scalar : state.scalars()) {
    if (auto own = split(scalar.name)) {
      of_part(parts_[own->first].name, [&] { states[own->first].add(std::move(own->second), scalar.value); });
    }
  }
  return states;
}

StagedLoad TrainingState::stage(const StateDict& state, const optim::LoadOptions& options,
                                optim::LoadReport* report) const {
  const std::vector<StateDict> states = split(state);
  StagedLoad load;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (is_empty(states[i])) {
      if (is_empty(state_of(part.object))) continue;  // an empty part writes nothing into a checkpoint
      fail(Code::kFormat, "", "the checkpoint has no part %s", part.name.c_str());
    }
    optim::LoadReport found;
    load.append(of_part(part.name, [&] { return stage_state(part.object, states[i], options, &found); }));
    add_names(part.name, found.loaded, report->loaded);
    add_names(part.name, found.fresh, report->fresh);
    add_names(part.name, found.unused, report->unused);
  }
  return load;
}

}  // namespace halftone::resume
