// Modules one after another. The first takes all inputs, each other one the first output of the one before it, and the
// outputs are those of the last.
#pragma once

#include <string>
#include <vector>

#include "nn/parts.h"

namespace halftone::nn {

class Sequential final : public Module, public Parts {
 public:
  // `names` has one name for each module; without names they are numbered. Throws INVALID_ARGUMENT beyond
  // kMaxModuleDepth, and for a name that is empty, has a dot or stands twice.
  explicit Sequential(std::vector<Ref<Module>> modules, std::vector<std::string> names = {});

  const char* kind() const noexcept override { return "sequential"; }
  Ref<Module> copied(PartCopies& parts) const override;
  Arity arity() const noexcept override { return arity_; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override;

  const Module* child(size_t index) const noexcept override {
    return index < modules_.size() ? modules_[index].get() : nullptr;
  }
  std::string child_name(size_t index) const override {
    return names_.empty() ? Module::child_name(index) : names_[index];
  }

  // Without names of its own the new child's name must be its number.
  void add_module(const std::string& name, const Ref<Module>& module) override;
  void replace_module(const std::string& name, const Ref<Module>& module) override;
  // Without names of its own the children behind move forward, and have other numbers.
  void remove(const std::string& name) override;

 private:
  // Throws INVALID_ARGUMENT naming "name" where there is none of the name.
  size_t index_of(const std::string& name) const;
  // Brings the depth and the arity up to date after a change of the children.
  void settle() noexcept;

  std::vector<Ref<Module>> modules_;
  std::vector<std::string> names_;  // empty where they are numbers
  Arity arity_;                     // kept: asking the children would ask a shared one once per path
};

}  // namespace halftone::nn
