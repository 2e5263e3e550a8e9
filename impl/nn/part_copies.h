// The copies of one module's parts. A part that the module holds several times, such as a tied weight, has one copy.
// Used by one thread at a time; no other thread changes the module meanwhile.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "nn/module.h"

namespace halftone::nn {

class PartCopies {
 public:
  // A child of a module that is copied, under its name there. Throws as Module::copied does.
  Ref<Module> module(const Module& source, const std::string& name);
  // The weights as they are now, in memory of their own: split ones joined to f32, those without a master in their 16
  // bits. Frozen if the source is, without gradient, hooks and optimizer. Null for null.
  Ref<Parameter> parameter(const Ref<Parameter>& source);
  // Undefined for an undefined tensor.
  Tensor buffer(const Tensor& source) const;

  // The names from the outermost module to the one that is copied now: "0.fc1"; empty for the outermost itself.
  std::string path() const;

 private:
  std::unordered_map<const Module*, Ref<Module>> modules_;
  std::unordered_map<const Parameter*, Ref<Parameter>> parameters_;
  std::vector<std::string> names_;
};

// A module of the same kinds and modes with parameters and buffers of its own. Hooks are not copied. Throws UNSUPPORTED
// naming "module" for a kind that cannot be copied, OUT_OF_MEMORY.
Ref<Module> copy_of(const Module& module);

}  // namespace halftone::nn
