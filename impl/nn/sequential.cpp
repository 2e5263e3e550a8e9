#include "nn/sequential.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "nn/part_copies.h"

namespace halftone::nn {

Sequential::Sequential(std::vector<Ref<Module>> modules, std::vector<std::string> names)
    : modules_(std::move(modules)), names_(std::move(names)) {
  std::unordered_set<std::string> known;
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string& name = names_[i];
    if (!name.empty() && name.find('.') == std::string::npos && known.insert(name).second) continue;
    fail(Code::kInvalidArgument, "names", "names[%zu]=\"%.200s\" is empty, has a dot or stands twice", i, name.c_str());
  }
  static_cast<void>(depth_with(modules_, "modules"));
  settle();
}

void Sequential::settle() noexcept {
  measure_depth();
  arity_ = modules_.empty() ? Arity() : modules_.front()->arity();
  if (!modules_.empty()) arity_.outputs = modules_.back()->arity().outputs;
}

size_t Sequential::index_of(const std::string& name) const {
  for (size_t i = 0; i < modules_.size(); ++i) {
    if (child_name(i) == name) return i;
  }
  fail_no_part(name, "child");
}

void Sequential::add_module(const std::string& name, const Ref<Module>& module) {
  const bool is_numbered = names_.empty() && (!modules_.empty() || name == "0");
  if (is_numbered && name != Module::child_name(modules_.size())) {
    fail(Code::kInvalidArgument, "name", "name=\"%.200s\" for a module of numbered children, expected \"%zu\"",
         name.c_str(), modules_.size());
  }
  require_part_name(name);
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) fail_taken(name);
  require_outside(*module, *this);
  static_cast<void>(depth_with({&module, 1}, "child"));
  modules_.reserve(modules_.size() + 1);
  if (!is_numbered) names_.push_back(name);
  modules_.push_back(module);
  settle();
  mark_changed();
}

void Sequential::replace_module(const std::string& name, const Ref<Module>& module) {
  const size_t index = index_of(name);
  require_outside(*module, *this);
  static_cast<void>(depth_with({&module, 1}, "child"));
  const Ref<Module> replaced = std::exchange(modules_[index], module);
  settle();
  mark_changed();
}

void Sequential::remove(const std::string& name) {
  const size_t index = index_of(name);
  const auto place = static_cast<std::ptrdiff_t>(index);
  const Ref<Module> removed = std::move(modules_[index]);
  modules_.erase(modules_.begin() + place);
  if (!names_.empty()) names_.erase(names_.begin() + place);
  settle();
  mark_changed();
}

void Sequential::forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  Tensor value = inputs[0];
  for (size_t i = 0; i < modules_.size(); ++i) {
    const Ref<Module> module = modules_[i];  // the caller's code may replace it while it runs
    const std::span<const Tensor> given = i == 0 ? inputs : std::span<const Tensor>(&value, 1);
    if (i + 1 == modules_.size()) return module->run(given, outputs);
    Tensor result;
    module->run(given, {&result, 1});
    value = std::move(result);
  }
  outputs[0] = value;
}

Ref<Module> Sequential::copied(PartCopies& parts) const {
  Ref<Sequential> made = make_ref<Sequential>(*this);
  for (size_t i = 0; i < modules_.size(); ++i) made->modules_[i] = parts.module(*modules_[i], child_name(i));
  return made;
}

}  // namespace halftone::nn
