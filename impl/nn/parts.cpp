#include "nn/parts.h"

#include "core/error.h"

namespace halftone::nn {

void require_part_name(const std::string& name) {
  if (name.find('.') == std::string::npos) return;
  fail(Code::kInvalidArgument, "name",
       "name=\"%.200s\" has a dot, which separates a module's name from those of its children", name.c_str());
}

void fail_taken(const std::string& name) {
  fail(Code::kInvalidArgument, "name", "name=\"%.200s\" is in the module already", name.c_str());
}

void require_outside(const Module& child, const Module& container) {
  if (!child.holds(container)) return;
  fail(Code::kInvalidArgument, "child", "child is the module itself or holds it, and would go round for ever");
}

void fail_no_part(const std::string& name, const char* what) {
  fail(Code::kInvalidArgument, "name", "name=\"%.200s\" is no %s of the module itself", name.c_str(), what);
}

}  // namespace halftone::nn
