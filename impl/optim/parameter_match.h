// The parameters of an optimizer beside those of a saved state, by name: the optimizer may own other parameters than
// the saved one, after layers were frozen, unfrozen or added. The names of moments begin with numbers in the
// optimizer's order ("3.0.bias.moment1"), so a match renames. Used by loads. One thread at a time.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "optim/load_options.h"
#include "tensor/state_dict.h"

namespace halftone::optim {

class ParameterMatch {
 public:
  // `targets` are the moments of the optimizer. REQUIRES: both outlive the object.
  ParameterMatch(const StateDict& targets, const StateDict& state);

  // Throws FORMAT unless both have the same parameters in the same order.
  void require_same() const;
  // Throws FORMAT for two parameters of one name.
  void require_distinct() const;
  LoadReport report() const;
  // The state under the optimizer's numbers, without the parameters that only the state has.
  StateDict renamed() const;
  // True if the state has moments of the parameter that a target's name belongs to.
  bool has(const std::string& target) const;

 private:
  // The parameters of a state in order: their names with and without their numbers.
  struct Parameters {
    explicit Parameters(const StateDict& state);
    std::vector<std::string> numbered;
    std::vector<std::string> names;
    std::unordered_map<std::string, size_t> places;  // by name; of two with one name the first
  };

  const StateDict& state_;
  Parameters own_, saved_;
};

}  // namespace halftone::optim
