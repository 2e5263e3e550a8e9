// The parts of a training run that a checkpoint holds, each under a name of its own. Whoever knows a part's room says
// how it is read and how a state is staged into it; here the parts become one state dict, and one load that reaches all
// of them or none. One thread at a time.
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
  // Throws INVALID_ARGUMENT for a name that stands already, is empty, or holds a slash.
  void add(StatePart part);

  // Everything, as "part/name".
  StateDict read() const;
  // Parts that nobody added are passed over. Throws FORMAT where a part is missing or does not fit, and leaves all
  // parts as they were.
  void load(const StateDict& state) const;

 private:
  std::optional<std::pair<size_t, std::string>> split(const std::string& name) const;
  // The entries of each part, by their names without its own.
  std::vector<StateDict> split(const StateDict& state) const;

  std::vector<StatePart> parts_;
  std::unordered_map<std::string, size_t> places_;  // in parts_, by name
};

}  // namespace halftone::trainer
