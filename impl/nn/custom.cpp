#include "nn/custom.h"

#include <algorithm>

#include "core/error.h"

namespace halftone::nn {

void Custom::require_free(const std::string& name) const {
  if (name.find('.') != std::string::npos) {
    fail(Code::kInvalidArgument, "name",
         "name=\"%.200s\" has a dot, which stands between a module's name and its parts'", name.c_str());
  }
  const auto has_name = [&](const auto& named) { return named.name == name; };
  if (std::any_of(parameters_.begin(), parameters_.end(), has_name) ||
      std::any_of(buffers_.begin(), buffers_.end(), has_name) ||
      std::any_of(modules_.begin(), modules_.end(), has_name)) {
    fail(Code::kInvalidArgument, "name", "name=\"%.200s\" is in the module already", name.c_str());
  }
}

void Custom::add_parameter(const std::string& name, const Ref<Parameter>& parameter) {
  require_free(name);
  parameters_.push_back({name, parameter});
}

void Custom::add_buffer(const std::string& name, const Tensor& tensor) {
  require_free(name);
  require_writable(tensor, "tensor");
  buffers_.push_back({name, tensor.detach()});
}

void Custom::add_module(const std::string& name, const Ref<Module>& module) {
  require_free(name);
  place_parts({&module, 1}, "child");
  modules_.push_back({name, module});
}

void Custom::append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  for (const NamedParameter& named : parameters_) out.push_back({prefix + named.name, named.parameter});
  for (const NamedModule& part : modules_) part.module->append_parameters(prefix + part.name + ".", out);
}

void Custom::append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const {
  for (const NamedBuffer& named : buffers_) out.push_back({prefix + named.name, named.tensor});
  for (const NamedModule& part : modules_) part.module->append_buffers(prefix + part.name + ".", out);
}

const Module* Custom::part(size_t index) const noexcept {
  return index < modules_.size() ? modules_[index].module.get() : nullptr;
}

}  // namespace halftone::nn
