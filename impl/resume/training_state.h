// The parts of a training run that a checkpoint holds, each with its own name: the objects whose rooms can read and
// load their state. This class combines them into one state dict, and into one load of all or none. One thread at a
// time.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "data/sampler.h"
#include "nn/module.h"
#include "optim/ema.h"
#include "optim/grad_scaler.h"
#include "optim/load_options.h"
#include "optim/optimizer.h"
#include "runtime/context.h"
#include "tensor/staged_load.h"

namespace halftone::resume {

// A context's state is its seed and its count of random sequences: a resumed run draws the numbers of one that never
// stopped.
using PartObject = std::variant<Ref<Context>, Ref<nn::Module>, Ref<optim::Optimizer>, Ref<optim::GradScaler>,
                                Ref<optim::Ema>, Ref<data::Sampler>, Ref<SharedStateDict>>;

class TrainingState {
 public:
  // Throws INVALID_ARGUMENT for a name that is in use, is empty, or holds a slash.
  void add(std::string name, PartObject object);

  // The state of all parts, with names "part/name". Split weights are joined when they are read.
  StateDict read() const;
  // Ignores parts of the state that were not added. Throws FORMAT if a part is missing or does not fit. `options` and
  // `report` are of all optimizers; the report's names are "part/name".
  StagedLoad stage(const StateDict& state, const optim::LoadOptions& options, optim::LoadReport* report) const;

 private:
  struct Part {
    std::string name;
    PartObject object;
  };

  std::optional<std::pair<size_t, std::string>> split(const std::string& name) const;
  // The entries of each part, by their names without its own.
  std::vector<StateDict> split(const StateDict& state) const;

  std::vector<Part> parts_;
  std::unordered_map<std::string, size_t> places_;  // in parts_, by name
};

}  // namespace halftone::resume
