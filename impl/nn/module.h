// A layer: something that maps a tensor to a tensor and may hold parameters. A module belongs to whoever holds a
// reference; forward may run from several threads at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/parameter.h"

namespace halftone::nn {

// A parameter with its name inside a module: "0.weight".
struct NamedParameter {
  std::string name;
  Ref<Parameter> parameter;
};

class Module : public RefCounted {
 public:
  virtual Tensor forward(const Tensor& input) const = 0;
  // Appends this module's parameters and those of its parts, their names led in by `prefix`.
  virtual void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
    static_cast<void>(prefix);
    static_cast<void>(out);
  }

  std::vector<NamedParameter> parameters() const {
    std::vector<NamedParameter> result;
    append_parameters("", result);
    return result;
  }
};

}  // namespace halftone::nn
