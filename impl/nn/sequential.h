// Modules one after another.
#pragma once

#include <string>
#include <vector>

#include "nn/module.h"

namespace halftone::nn {

class Sequential final : public Module {
 public:
  // `names` has one name for each module; without names they are numbered. Throws INVALID_ARGUMENT beyond
  // kMaxModuleDepth, and for a name that is empty, has a dot or stands twice.
  explicit Sequential(std::vector<Ref<Module>> modules, std::vector<std::string> names = {});

  const char* kind() const noexcept override { return "sequential"; }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override {
    Tensor value = input;
    for (const Ref<Module>& module : modules_) value = module->run(value);
    return value;
  }

  const Module* child(size_t index) const noexcept override {
    return index < modules_.size() ? modules_[index].get() : nullptr;
  }
  std::string child_name(size_t index) const override {
    return names_.empty() ? Module::child_name(index) : names_[index];
  }

 private:
  std::vector<Ref<Module>> modules_;
  std::vector<std::string> names_;  // empty where they are numbers
};

}  // namespace halftone::nn
