#include "nn/sequential.h"

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
  set_depth(depth_with(modules_, "modules"));
  if (modules_.empty()) return;
  arity_ = modules_.front()->arity();
  arity_.outputs = modules_.back()->arity().outputs;
}

void Sequential::forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  Tensor value = inputs[0];
  for (size_t i = 0; i < modules_.size(); ++i) {
    const std::span<const Tensor> given = i == 0 ? inputs : std::span<const Tensor>(&value, 1);
    if (i + 1 == modules_.size()) return modules_[i]->run(given, outputs);
    Tensor result;
    modules_[i]->run(given, {&result, 1});
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
