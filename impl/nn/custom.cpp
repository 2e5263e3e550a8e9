#include "nn/custom.h"

#include <utility>

#include "core/error.h"

namespace halftone::nn {

void Custom::require_free(const std::string& name) const {
  if (name.find('.') != std::string::npos) {
    fail(Code::kInvalidArgument, "name",
         "name=\"%.200s\" has a dot, which separates a module's name from those of its children", name.c_str());
  }
  if (names_.contains(name)) {
    fail(Code::kInvalidArgument, "name", "name=\"%.200s\" is in the module already", name.c_str());
  }
}

template <class Named>
void Custom::add(std::vector<Named>& list, Named named) {
  const auto name = names_.insert(named.name).first;
  try {
    list.push_back(std::move(named));
  } catch (...) {
    names_.erase(name);
    throw;
  }
  mark_changed();
}

void Custom::add_parameter(const std::string& name, const Ref<Parameter>& parameter) {
  require_free(name);
  add(parameters_, {name, parameter});
}

void Custom::add_buffer(const std::string& name, const Tensor& tensor) {
  require_free(name);
  require_writable(tensor, "tensor");
  add(buffers_, {name, tensor.detach()});
}

void Custom::add_module(const std::string& name, const Ref<Module>& module) {
  require_free(name);
  if (module->holds(*this)) {
    fail(Code::kInvalidArgument, "child", "child is the module itself or holds it, and would go round for ever");
  }
  const int depth = depth_with({&module, 1}, "child");
  add(modules_, {name, module});
  set_depth(depth);
}

void Custom::append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  for (const NamedParameter& named : parameters_) out.push_back({prefix + named.name, named.parameter});
}

void Custom::append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const {
  for (const NamedBuffer& named : buffers_) out.push_back({prefix + named.name, named.tensor});
}

const Module* Custom::child(size_t index) const noexcept {
  return index < modules_.size() ? modules_[index].module.get() : nullptr;
}

}  // namespace halftone::nn
