// The gradients and weights of an optimizer around one update. Used by one thread at a time.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/monitor/sample.h"
#include "nn/module.h"
#include "optim/optimizer.h"

namespace halftone::analysis {

class Updates {
 public:
  // Both outlive the object.
  Updates(const nn::Module& module, const optim::Optimizer& optimizer) : module_(module), optimizer_(optimizer) {}

  struct Parts {
    bool gradients;
    bool parameters;       // with a copy of the weights until after()
    bool keeps_gradients;  // until the next step
  };
  // Before the update.
  void before(const std::vector<size_t>& numbers, const Parts& parts, Sample& sample);
  // Behind it.
  void after(Sample& sample);
  // The update of the next step, whose gradients are compared with those that were kept.
  void compare(const std::vector<size_t>& numbers, Sample& sample);
  // Drops the copies.
  void forget() noexcept;

 private:
  struct Kept {
    size_t parameter;  // its number in the optimizer's list
    size_t record;     // its number in the sample
    Tensor tensor;
  };

  void name_parameters();
  const std::string& name_of_parameter(const optim::OwnedParameter& owned);
  void add_gradient(size_t number, const Parts& parts, Sample& sample);
  void add_weights(size_t number, Sample& sample);

  const nn::Module& module_;
  const optim::Optimizer& optimizer_;
  std::unordered_map<const Parameter*, std::string> names_;  // in the module
  std::vector<Kept> weights_;                                // before the update
  std::vector<Kept> gradients_;                              // of the sample, until the next step
};

}  // namespace halftone::analysis
