// The parts of a training run that a checkpoint holds, each with its own name. The caller supplies functions that read
// a part and stage a state into it. This class combines the parts into one state dict, and into one load of all or
// none. One thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tensor/state_dict.h"

namespace halftone::trainer {

struct StatePart {
  std::string name;
  std::function<StateDict()> read;  // of the live state
  std::function<StagedLoad(const StateDict&)> stage;
};

class TrainingState {
 public:
  // Throws INVALID_ARGUMENT for a name that is in use, is empty, or holds a slash.
  void add(StatePart part);

  // The state of all parts, with names "part/name".
  StateDict read() const;
  // Ignores parts of the state that were not added. Throws FORMAT if a part is missing or does not fit, and leaves all
  // parts unchanged.
  void load(const StateDict& state) const;

 private:
  std::optional<std::pair<size_t, std::string>> split(const std::string& name) const;
  // The entries of each part, by their names without its own.
  std::vector<StateDict> split(const StateDict& state) const;

  std::vector<StatePart> parts_;
  std::unordered_map<std::string, size_t> places_;  // in parts_, by name
};

}  // namespace halftone::trainer
