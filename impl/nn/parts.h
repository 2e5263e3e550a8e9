// The parts of a module that a caller changes: children, and what a module of the caller's holds besides. Implemented
// by Custom and Sequential. Every change is the caller's to order against every use of the module.
#pragma once

#include <string>

#include "nn/module.h"

namespace halftone::nn {

class Parts {
 public:
  // Adds a child behind the last. Throws INVALID_ARGUMENT naming "name" where the container cannot have the name, and
  // naming "child" where the child holds the container or would make it too deep.
  virtual void add_module(const std::string& name, const Ref<Module>& module) = 0;
  // Puts a module in the place of the child of a name. Throws as add_module does.
  virtual void replace_module(const std::string& name, const Ref<Module>& module) = 0;
  // Throws INVALID_ARGUMENT naming "name" where there is no part of the name.
  virtual void remove(const std::string& name) = 0;

 protected:
  ~Parts() = default;
};

// Throw INVALID_ARGUMENT: that a name has a dot; that it is taken; that a child which holds the container would go
// round for ever; that a name is no part's.
void require_part_name(const std::string& name);
[[noreturn]] void fail_taken(const std::string& name);
void require_outside(const Module& child, const Module& container);
[[noreturn]] void fail_no_part(const std::string& name, const char* what);

}  // namespace halftone::nn
