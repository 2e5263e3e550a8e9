// The parameters of a module that a file may have under several names: tied weights, which the module holds more than
// once, and weights with a name that only files of other programs use. A file may have any of the names; where it has
// several, their values must be equal. Used by loads of a state. One thread at a time.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "nn/module.h"
#include "tensor/state_dict.h"

namespace halftone::nn {

class TiedNames {
 public:
  explicit TiedNames(const Module& module);

  // The entry of a parameter or a buffer: that of its name, or of the first of its other names that the state has. Null
  // if there is none.
  const StateTensor* find(const StateDict& state, const std::string& name) const;
  // True if this is one of several names.
  bool contains(const std::string& name) const { return places_.contains(name); }
  // Throws INVALID_ARGUMENT naming two names of one parameter with other values. `argument` is where the state is from.
  void require_equal(const StateDict& state, const char* argument) const;

 private:
  std::vector<std::vector<std::string>> names_;     // of each parameter that has several
  std::unordered_map<std::string, size_t> places_;  // in names_
};

}  // namespace halftone::nn
