#include "halftone/introspection.h"

#include <algorithm>

#include "autograd/parameter_set.h"
#include "autograd/scope.h"
#include "autograd/weights/weights.h"
#include "base/call.h"
#include "nn/lent_module.h"
#include "nn/sequential.h"
#include "nn/summary.h"
#include "tensor/format.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

size_t child_count(const nn::Module& module) {
  size_t count = 0;
  while (module.child(count) != nullptr) ++count;
  return count;
}

const nn::Module& child_at(const nn::Module& module, size_t index) {
  require_index(index, child_count(module));
  return *module.child(index);
}

std::string name_of_child(const nn::Module& module, size_t index) {
  child_at(module, index);
  return module.child_name(index);
}

Ref<nn::Module> module_at(const nn::Module& module, const char* path) {
  const nn::Module* found = module.find(path);
  if (found == nullptr) fail(Code::kInvalidArgument, "path", "path=\"%.200s\" leads to no module", path);
  return shared_module(*found);
}

Tensor forward_at(const nn::Module& module, const char* path, const Tensor& input) {
  const ScopeGuard restore;
  return module_at(module, path)->run(input);
}

Ref<Parameter> parameter_named(const nn::Module& module, const char* name) {
  const Ref<const nn::Module::Contents> contents = module.contents();
  for (const NamedParameter& named : contents->parameters) {
    if (named.name == name) return named.parameter;
  }
  fail(Code::kInvalidArgument, "name", "name=\"%.200s\" is no parameter of the module", name);
}

Tensor gradient(const Parameter& parameter) {
  if (parameter.accumulator().gradient().is_invalid()) {
    fail(Code::kState, "parameter", "the gradient of %s is invalid since a failed backward; zero it first",
         parameter.name());
  }
  if (!parameter.has_grad()) {
    fail(Code::kState, "parameter", "parameter %s has no gradient; run backward first", parameter.name());
  }
  return parameter.grad().detach();
}

// Names and modules of one count.
struct NamedModules {
  std::vector<std::string> names;
  std::vector<Ref<nn::Module>> modules;
};

NamedModules named_modules(size_t count, const char* const* names, htone_module* const* modules, ArgumentName name) {
  NamedModules result;
  if (count > 0) require(names, name.next());
  for (size_t i = 0; i < count; ++i) result.names.emplace_back(checked_name(names[i], name.next()));
  result.modules = held_objects(count, modules, name.next().next());
  return result;
}

Ref<nn::Module> make_named_sequential(const NamedModules& given) {
  return make_ref<nn::Sequential>(given.modules, given.names);
}

}  // namespace

htone_status htone_module_kind(htone_module* module, char* out_kind, size_t capacity, size_t* out_length) {
  return Pure(&nn::Module::kind, module, text(out_kind, capacity, out_length));
}

htone_status htone_module_child_count(htone_module* module, size_t* out_count) {
  return Pure(child_count, module, out_count);
}

htone_status htone_module_child(htone_module* module, size_t index, htone_module** out) {
  return Call([](const nn::Module& parent, size_t i) { return shared_module(child_at(parent, i)); }, module, index,
              out);
}

htone_status htone_module_child_name(htone_module* module, size_t index, char* out_name, size_t capacity,
                                     size_t* out_length) {
  return Call(name_of_child, module, index, text(out_name, capacity, out_length));
}

htone_status htone_module_find(htone_module* module, const char* path, htone_module** out) {
  return Call(module_at, module, path, out);
}

htone_status htone_module_forward_child(htone_module* module, const char* path, htone_tensor* input,
                                        htone_tensor** out) {
  return Call(forward_at, module, path, input, out);
}

htone_status htone_module_find_parameter(htone_module* module, const char* name, htone_parameter** out) {
  return Call(parameter_named, module, name, out);
}

htone_status htone_parameter_name(htone_parameter* parameter, char* out_name, size_t capacity, size_t* out_length) {
  return Pure(&Parameter::name, parameter, text(out_name, capacity, out_length));
}

htone_status htone_parameter_shape(htone_parameter* parameter, int64_t* out_shape, int32_t capacity,
                                   int32_t* out_ndim) {
  return Pure([](const Parameter& own) { return own.weights().tensor().shape(); }, parameter,
              sizes(out_shape, capacity, out_ndim));
}

htone_status htone_parameter_dtype(htone_parameter* parameter, htone_dtype* out_dtype) {
  return Pure(
      // A split weight is FP32 in two parts of 16 bits.
      [](const Parameter& own) { return own.weights().is_split() ? DType::kF32 : own.weights().tensor().dtype(); },
      parameter, out_dtype);
}

htone_status htone_parameter_grad(htone_parameter* parameter, htone_tensor** out) {
  return Call(gradient, parameter, out);
}

htone_status htone_module_create_named_sequential(size_t count, const char* const* names, htone_module* const* modules,
                                                  htone_module** out) {
  return Call(make_named_sequential, as<named_modules>(count, names, modules), out);
}

htone_status htone_module_summary(htone_module* module, char* out_text, size_t capacity, size_t* out_length) {
  return Call(nn::summary, module, text(out_text, capacity, out_length));
}

htone_status htone_tensor_format(htone_tensor* tensor, char* out_text, size_t capacity, size_t* out_length) {
  return Call(format, tensor, text(out_text, capacity, out_length));
}
