// Modules one after another.
#pragma once

#include <algorithm>
#include <utility>

#include "nn/module.h"

namespace halftone::nn {

class Sequential final : public Module {
 public:
  explicit Sequential(std::vector<Ref<Module>> modules) : modules_(std::move(modules)) {}

  Tensor forward(const Tensor& input) const override {
    Tensor value = input;
    for (const Ref<Module>& module : modules_) value = module->run(value);
    return value;
  }

  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override {
    for (size_t i = 0; i < modules_.size(); ++i) {
      modules_[i]->append_parameters(prefix + std::to_string(i) + ".", out);
    }
  }
  void append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const override {
    for (size_t i = 0; i < modules_.size(); ++i) {
      modules_[i]->append_buffers(prefix + std::to_string(i) + ".", out);
    }
  }

  void set_training(bool training) noexcept override {
    Module::set_training(training);
    for (const Ref<Module>& module : modules_) module->set_training(training);
  }
  bool contains(const Module& other) const noexcept override {
    return this == &other || std::any_of(modules_.begin(), modules_.end(),
                                         [&](const Ref<Module>& module) { return module->contains(other); });
  }

 private:
  std::vector<Ref<Module>> modules_;
};

}  // namespace halftone::nn
