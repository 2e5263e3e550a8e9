#include "nn/custom.h"

#include <algorithm>
#include <utility>

namespace halftone::nn {

void Custom::require_free(const std::string& name) const {
  require_part_name(name);
  if (names_.contains(name)) fail_taken(name);
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
  require_outside(*module, *this);
  const int depth = depth_with({&module, 1}, "child");
  add(modules_, {name, module});
  set_depth(depth);
}

template <class Named>
Named* Custom::find_in(std::vector<Named>& list, std::string_view name) noexcept {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Named& named) { return named.name == name; });
  return found == list.end() ? nullptr : &*found;
}

template <class Named>
bool Custom::remove_from(std::vector<Named>& list, const std::string& name) {
  Named* const found = find_in(list, name);
  if (found == nullptr) return false;
  names_.erase(name);
  // The part is released at the end, when the module is whole again: its own end may run the caller's code.
  const Named removed = std::move(*found);
  list.erase(list.begin() + (found - list.data()));
  measure_depth();
  mark_changed();
  return true;
}

Ref<Parameter>* Custom::parameter_place(std::string_view name) noexcept {
  NamedParameter* const found = find_in(parameters_, name);
  return found == nullptr ? nullptr : &found->parameter;
}

void Custom::replace_buffer(const std::string& name, const Tensor& tensor) {
  NamedBuffer* const found = find_in(buffers_, name);
  if (found == nullptr) fail_no_part(name, "buffer");
  require_writable(tensor, "tensor");
  found->tensor = tensor.detach();
  mark_changed();
}

void Custom::replace_module(const std::string& name, const Ref<Module>& module) {
  NamedModule* const found = find_in(modules_, name);
  if (found == nullptr) fail_no_part(name, "child");
  require_outside(*module, *this);
  static_cast<void>(depth_with({&module, 1}, "child"));
  const Ref<Module> replaced = std::exchange(found->module, module);
  measure_depth();
  mark_changed();
}

void Custom::remove(const std::string& name) {
  if (remove_from(modules_, name) || remove_from(parameters_, name) || remove_from(buffers_, name)) return;
  fail_no_part(name, "parameter, buffer or child");
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
