#include "halftone/parameters.h"

#include "arguments.h"
#include "guard.h"
#include "tensor/factory.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

const NamedParameter& item_at(const ParameterSet& set, size_t index) {
  if (index >= set.items().size()) {
    fail(Code::kInvalidArgument, "index", "index=%zu is outside [0, %zu)", index, set.items().size());
  }
  return set.items()[index];
}

// What may stand for an FP32 master in memory that the host sees as well.
const Tensor& checked_master(htone_tensor* tensor) {
  const Tensor& master = unwrap(tensor, "tensor");
  if (requires_grad(master)) {
    fail(Code::kState, "tensor", "tensor requires a gradient of its own; detach it first");
  }
  if (master.dtype() != DType::kF32) {
    fail(Code::kDtypeMismatch, "tensor", "tensor is %s, expected f32", name_of(master.dtype()));
  }
  require_writable(master, "tensor");
  if (!master.is_contiguous()) fail(Code::kInvalidArgument, "tensor", "tensor is not contiguous in row-major order");
  return master;
}

// A gradient that a host brings for a parameter.
const Tensor& checked_gradient(const Parameter& parameter, htone_tensor* gradient) {
  const Tensor& grad = unwrap(gradient, "gradient");
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
  return grad;
}

}  // namespace

htone_status htone_parameter_create(const char* name, htone_tensor* tensor, htone_parameter** out) {
  return guard([&] {
    require_name(&require(name, "name"));
    const Tensor master = checked_master(tensor).detach();
    require(out, "out");
    wrap(out, make_ref<Parameter>(name, master, MasterMemory::kShared));
  });
}

htone_status htone_parameter_set_grad(htone_parameter* parameter, htone_tensor* gradient) {
  return guard([&] {
    Parameter& target = *unwrap(parameter, "parameter");
    target.bring_grad(contiguous(checked_gradient(target, gradient)).detach());
  });
}

htone_status htone_parameter_accumulate_grad(htone_parameter* parameter, htone_tensor* gradient) {
  return guard([&] {
    Parameter& target = *unwrap(parameter, "parameter");
    const Tensor& added = checked_gradient(target, gradient);
    if (target.is_invalid()) {
      fail(Code::kState, "parameter", "the gradient of %s is invalid since a failed backward; zero it first",
           target.name());
    }
    target.accumulate(added);
  });
}

htone_status htone_parameter_retain(htone_parameter* parameter) {
  return guard([&] { retain_handle(parameter, "parameter"); });
}

htone_status htone_parameter_release(htone_parameter* parameter) {
  return guard([&] { release_handle(parameter, "parameter"); });
}

htone_status htone_parameter_tensor(htone_parameter* parameter, htone_tensor** out) {
  return guard([&] { wrap(out, unwrap(parameter, "parameter")->leaf()); });
}

htone_status htone_parameter_read(htone_parameter* parameter, htone_dtype dtype, htone_tensor** out) {
  return guard([&] {
    const Parameter& source = *unwrap(parameter, "parameter");
    wrap(out, source.read(checked_weight_dtype(dtype, "dtype", "dtype")));
  });
}

htone_status htone_parameter_set_frozen(htone_parameter* parameter, int32_t frozen) {
  return guard([&] { unwrap(parameter, "parameter")->set_frozen(frozen != 0); });
}

htone_status htone_parameter_is_frozen(htone_parameter* parameter, int32_t* out_frozen) {
  return guard([&] {
    const Parameter& source = *unwrap(parameter, "parameter");
    require(out_frozen, "out_frozen") = source.is_frozen() ? 1 : 0;
  });
}

htone_status htone_parameters_create(htone_parameters** out) {
  return guard([&] { wrap(out, make_ref<ParameterSet>()); });
}

htone_status htone_parameters_add(htone_parameters* parameters, htone_parameter* parameter) {
  return guard([&] {
    ParameterSet& set = *unwrap(parameters, "parameters");
    const Ref<Parameter>& added = unwrap(parameter, "parameter");
    if (!set.add({added->name(), added})) {
      fail(Code::kState, "parameter", "parameter %s is in parameters already", added->name());
    }
  });
}

htone_status htone_parameters_select(htone_parameters* parameters, const char* pattern, htone_parameters** out) {
  return guard([&] {
    const ParameterSet& set = *unwrap(parameters, "parameters");
    wrap(out, set.selected(&require(pattern, "pattern")));
  });
}

htone_status htone_parameters_exclude(htone_parameters* parameters, const char* pattern, htone_parameters** out) {
  return guard([&] {
    const ParameterSet& set = *unwrap(parameters, "parameters");
    wrap(out, set.excluded(&require(pattern, "pattern")));
  });
}

htone_status htone_parameters_count(htone_parameters* parameters, size_t* out_count) {
  return guard([&] {
    const ParameterSet& set = *unwrap(parameters, "parameters");
    require(out_count, "out_count") = set.items().size();
  });
}

htone_status htone_parameters_get(htone_parameters* parameters, size_t index, htone_parameter** out) {
  return guard([&] { wrap(out, item_at(*unwrap(parameters, "parameters"), index).parameter); });
}

htone_status htone_parameters_name(htone_parameters* parameters, size_t index, char* out_name, size_t capacity,
                                   size_t* out_length) {
  return guard([&] {
    const NamedParameter& named = item_at(*unwrap(parameters, "parameters"), index);
    copy_text(named.name.c_str(), out_name, "out_name", capacity, out_length);
  });
}

htone_status htone_parameters_retain(htone_parameters* parameters) {
  return guard([&] { retain_handle(parameters, "parameters"); });
}

htone_status htone_parameters_release(htone_parameters* parameters) {
  return guard([&] { release_handle(parameters, "parameters"); });
}
