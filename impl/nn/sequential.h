// Modules one after another.
#pragma once

#include <utility>

#include "nn/module.h"

namespace halftone::nn {

class Sequential final : public Module {
 public:
  // Throws INVALID_ARGUMENT beyond kMaxModuleDepth.
  explicit Sequential(std::vector<Ref<Module>> modules) : modules_(std::move(modules)) {
    set_depth(depth_with(modules_, "modules"));
  }

  Tensor forward(const Tensor& input) const override {
    Tensor value = input;
    for (const Ref<Module>& module : modules_) value = module->run(value);
    return value;
  }

  const Module* child(size_t index) const noexcept override {
    return index < modules_.size() ? modules_[index].get() : nullptr;
  }

 private:
  std::vector<Ref<Module>> modules_;
};

}  // namespace halftone::nn
