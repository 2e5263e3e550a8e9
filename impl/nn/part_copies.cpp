#include "nn/part_copies.h"

#include <utility>

#include "autograd/weights/weights.h"
#include "core/error.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

Tensor in_own_memory(const Tensor& source) {
  const Tensor made = empty(source.device(), source.dtype(), source.shape(), Category::kParameters);
  copy(source, made);
  return made;
}

}  // namespace

Ref<Module> PartCopies::module(const Module& source, const std::string& name) {
  if (const auto known = modules_.find(&source); known != modules_.end()) return known->second;
  names_.push_back(name);
  Ref<Module> made = source.copied(*this);
  names_.pop_back();
  modules_.emplace(&source, made);
  return made;
}

Ref<Parameter> PartCopies::parameter(const Ref<Parameter>& source) {
  if (!source) return nullptr;
  if (const auto known = parameters_.find(source.get()); known != parameters_.end()) return known->second;
  const Weights& weights = source->weights();
  weights.materialize();
  const Tensor values = weights.is_split() ? weights.read(DType::kF32) : weights.tensor();
  Ref<Parameter> made = make_ref<Parameter>(source->name(), in_own_memory(values));
  made->set_frozen(source->is_frozen());
  parameters_.emplace(source.get(), made);
  return made;
}

Tensor PartCopies::buffer(const Tensor& source) const { return source.defined() ? in_own_memory(source) : Tensor(); }

std::string PartCopies::path() const {
  std::string path;
  for (const std::string& name : names_) path.append(path.empty() ? "" : ".").append(name);
  return path;
}

Ref<Module> copy_of(const Module& module) {
  PartCopies parts;
  return module.copied(parts);
}

Ref<Module> Module::copied(PartCopies& parts) const {
  const std::string path = parts.path();
  const std::string place = path.empty() ? "module" : "layer " + path;
  fail(Code::kUnsupported, "module", "%.300s is of kind %s, which cannot be copied", place.c_str(), kind());
}

}  // namespace halftone::nn
