// Modules one after another.
#pragma once

#include <utility>

#include "nn/module.h"

namespace halftone::nn {

class Sequential final : public Module {
 public:
  explicit Sequential(std::vector<Ref<Module>> modules) : modules_(std::move(modules)) {}

  Tensor forward(const Tensor& input) const override {
    Tensor value = input;
    for (const Ref<Module>& module : modules_) value = module->forward(value);
    return value;
  }

  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override {
    for (size_t i = 0; i < modules_.size(); ++i) {
      modules_[i]->append_parameters(prefix + std::to_string(i) + ".", out);
    }
  }

 private:
  std::vector<Ref<Module>> modules_;
};

}  // namespace halftone::nn
