// Chooses the units of a model: modules whose weights are gathered, used and released together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/module.h"

namespace halftone::parallel {

struct UnitRule {
  std::optional<std::string> path;  // a pattern for the path (core/text/glob.h); none: any
  std::optional<std::string> kind;  // none: any
  int64_t least_elements = 1;       // of the parameters that no unit inside the module has
};

// A module with the parameters that it gathers, by their numbers.
struct Unit {
  nn::Module* module;
  std::string path;
  std::vector<size_t> parameters;
};

// The units of a model, in the order of paths; the first one is the model itself, with the parameters of no other. A
// parameter that two units use belongs to the model. `parameters` are the model's, each once.
std::vector<Unit> choose_units(nn::Module& model, const std::vector<NamedParameter>& parameters, const UnitRule& rule);

}  // namespace halftone::parallel
