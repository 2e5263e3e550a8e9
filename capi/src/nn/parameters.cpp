#include "halftone/parameters.h"

#include "autograd/parameter_set.h"
#include "autograd/weights/weights.h"
#include "base/call.h"
#include "nn/handles.h"
#include "nn/init.h"
#include "runtime/handles.h"
#include "tensor/factory.h"
#include "tensor/handles.h"
#include "tensor/weight_dtype.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// An FP32 master that shares its memory with the caller must meet these conditions.
void require_master(const Tensor& master) {
  if (requires_grad(master)) {
    fail(Code::kState, "tensor", "tensor requires a gradient of its own; detach it first");
  }
  if (master.dtype() != DType::kF32) {
    fail(Code::kDtypeMismatch, "tensor", "tensor is %s, expected f32", name_of(master.dtype()));
  }
  require_writable(master, "tensor");
  if (!master.is_contiguous()) fail(Code::kInvalidArgument, "tensor", "tensor is not contiguous in row-major order");
}

Ref<Parameter> make_parameter(const char* name, const Tensor& tensor) {
  require_master(tensor);
  return make_ref<Parameter>(name, tensor.detach(), MasterMemory::kShared);
}

Ref<Parameter> new_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape) {
  return nn::constant_parameter(device, name, dtype, shape, 0.0);
}

// A gradient that a caller sets must fit the parameter.
void require_gradient(const Parameter& parameter, const Tensor& grad) {
  if (parameter.is_frozen()) fail(Code::kState, "parameter", "parameter %s is frozen", parameter.name());
  const DType dtype = grad.dtype();
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) {
    fail(Code::kDtypeMismatch, "gradient", "gradient is %s, expected f32, f16 or bf16", name_of(dtype));
  }
  if (!(grad.shape() == parameter.shape())) {
    fail(Code::kShapeMismatch, "gradient", "gradient %s differs from parameter %s", ShapeText(grad.shape()).text,
         ShapeText(parameter.shape()).text);
  }
  if (&grad.device() != &parameter.device()) {
    fail(Code::kDevice, "gradient", "gradient is on another device than parameter");
  }
}

void set_grad(Parameter& parameter, const Tensor& gradient) {
  require_gradient(parameter, gradient);
  parameter.accumulator().bring_grad(contiguous(gradient).detach());
}

void accumulate_grad(Parameter& parameter, const Tensor& gradient) {
  require_gradient(parameter, gradient);
  if (parameter.accumulator().gradient().is_invalid()) {
    fail(Code::kState, "parameter", "the gradient of %s is invalid since a failed backward; zero it first",
         parameter.name());
  }
  parameter.accumulator().accumulate(gradient);
}

void add_parameter(ParameterSet& set, const Ref<Parameter>& parameter) {
  if (set.add({parameter->name(), parameter})) return;
  fail(Code::kState, "parameter", "parameter %s is in parameters already", parameter->name());
}

const NamedParameter& item_at(const ParameterSet& set, size_t index) {
  require_index(index, set.items().size());
  return set.items()[index];
}

}  // namespace

htone_status htone_parameter_create(const char* name, htone_tensor* tensor, htone_parameter** out) {
  return Call(make_parameter, as<checked_name>(name), tensor, out);
}

htone_status htone_parameter_create_new(htone_device* device, const char* name, htone_dtype dtype, int32_t ndim,
                                        const int64_t* shape, htone_parameter** out) {
  return Call(new_parameter, device, as<checked_name>(name), as<weight_dtype>(dtype), as<fixed_shape>(ndim, shape),
              out);
}

htone_status htone_parameter_set_grad(htone_parameter* parameter, htone_tensor* gradient) {
  return Call(set_grad, parameter, gradient);
}

htone_status htone_parameter_accumulate_grad(htone_parameter* parameter, htone_tensor* gradient) {
  return Call(accumulate_grad, parameter, gradient);
}

htone_status htone_parameter_tensor(htone_parameter* parameter, htone_tensor** out) {
  return Call(&Parameter::new_leaf, parameter, out);
}

htone_status htone_parameter_read(htone_parameter* parameter, htone_dtype dtype, htone_tensor** out) {
  return Call([](const Parameter& own, DType wanted) { return own.weights().read(wanted); }, parameter,
              as<weight_dtype>(dtype), out);
}

htone_status htone_parameter_set_frozen(htone_parameter* parameter, int32_t frozen) {
  return Call(&Parameter::set_frozen, parameter, frozen);
}

htone_status htone_parameter_is_frozen(htone_parameter* parameter, int32_t* out_frozen) {
  return Pure(&Parameter::is_frozen, parameter, out_frozen);
}

htone_status htone_parameters_create(htone_parameters** out) { return Call(make<ParameterSet>, out); }

htone_status htone_parameters_add(htone_parameters* parameters, htone_parameter* parameter) {
  return Call(add_parameter, parameters, shared(parameter));
}

htone_status htone_parameters_select(htone_parameters* parameters, const char* pattern, htone_parameters** out) {
  return Call(&ParameterSet::selected, parameters, pattern, out);
}

htone_status htone_parameters_exclude(htone_parameters* parameters, const char* pattern, htone_parameters** out) {
  return Call(&ParameterSet::excluded, parameters, pattern, out);
}

htone_status htone_parameters_count(htone_parameters* parameters, size_t* out_count) {
  return Pure([](const ParameterSet& set) { return set.items().size(); }, parameters, out_count);
}

htone_status htone_parameters_at(htone_parameters* parameters, size_t index, htone_parameter** out) {
  return Call([](const ParameterSet& set, size_t i) { return item_at(set, i).parameter; }, parameters, index, out);
}

htone_status htone_parameters_name(htone_parameters* parameters, size_t index, char* out_name, size_t capacity,
                                   size_t* out_length) {
  return Call([](const ParameterSet& set, size_t i) { return item_at(set, i).name; }, parameters, index,
              text(out_name, capacity, out_length));
}
