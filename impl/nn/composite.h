// A module of named parts, which its forward runs. Used by modules whose parts have fixed roles.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nn/module.h"

namespace halftone::nn {

class Composite : public Module {
 public:
  const Module* child(size_t index) const noexcept override {
    return index < parts_.size() ? parts_[index].module.get() : nullptr;
  }
  std::string child_name(size_t index) const override { return parts_[index].name; }

 protected:
  // Throws INVALID_ARGUMENT naming "options" beyond kMaxModuleDepth.
  void add_part(std::string name, Ref<Module> module);
  // In the order in which the parts were added.
  const Module& part(size_t index) const noexcept { return *parts_[index].module; }
  size_t part_count() const noexcept { return parts_.size(); }
  // Gives a copy of a module parts of its own.
  static void own_parts(Composite& made, PartCopies& parts);

 private:
  struct Part {
    std::string name;
    Ref<Module> module;
  };
  std::vector<Part> parts_;
};

}  // namespace halftone::nn
