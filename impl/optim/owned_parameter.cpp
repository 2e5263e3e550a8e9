#include "optim/owned_parameter.h"

#include <utility>

#include "backend/chunks.h"
#include "core/error.h"
#include "tensor/factory.h"

namespace halftone::optim {

namespace {

// The address where the parameter's shard begins; null where there is no tensor.
void* at_shard(const Parameter& parameter, const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  return static_cast<char*>(tensor.data()) + parameter.shard().begin * static_cast<int64_t>(size_of(tensor.dtype()));
}

}  // namespace

MomentSlot Moment::slot() const {
  if (!values.defined()) return {};
  return {.data = values.data(),
          .scales = scales.defined() ? static_cast<float*>(scales.data()) : nullptr,
          .dtype = values.dtype()};
}

OwnedParameter::OwnedParameter(const NamedParameter& named, int32_t group, const char* argument) : group_(group) {
  if (named.parameter->is_frozen()) {
    fail(Code::kState, argument, "%s: parameter %s is frozen", argument, named.name.c_str());
  }
  if (!named.parameter->claim()) {
    fail(Code::kState, argument, "%s: parameter %s belongs to an optimizer already", argument, named.name.c_str());
  }
  named_.parameter = named.parameter;  // from here on the destructor gives it free
  named_.name = named.name;
}

OwnedParameter::~OwnedParameter() {
  if (!named_.parameter) return;  // moved from
  if (!parameter().is_split()) parameter().set_compute(Tensor());
  parameter().unclaim();
}

OwnedParameter::Arrangement OwnedParameter::arrange(const Precision& precision, int moments) const {
  Arrangement arrangement = {.grad = {},
                             .grad_dtype = precision.grad_dtype,
                             .weights = weights_in(precision),
                             .moment1 = moments > 0 ? zero_moment(precision.moment1_dtype) : Moment{},
                             .moment2 = moments > 1 ? zero_moment(precision.moment2_dtype) : Moment{}};
  // A caller that shares the weights usually brings gradients as well; if not, the first backward allocates.
  if (!parameter().is_shared() || parameter().has_memory()) {
    arrangement.grad = parameter().memory_in(precision.grad_dtype);
  }
  return arrangement;
}

void OwnedParameter::install(Arrangement arrangement) noexcept {
  parameter().take_memory(std::move(arrangement.grad), arrangement.grad_dtype);
  parameter().install(std::move(arrangement.weights));
  moment1_ = std::move(arrangement.moment1);
  moment2_ = std::move(arrangement.moment2);
}

Parameter::Representation OwnedParameter::weights_in(const Precision& precision) const {
  if (precision.master == Master::kSplit) return parameter().split_representation();
  if (precision.master == Master::kNone) return parameter().narrow_representation(precision.compute_dtype);
  return parameter().whole_representation(precision.compute_dtype);
}

Moment OwnedParameter::zero_moment(DType dtype) const {
  ContextDevice& device = parameter().device();
  Moment moment;
  moment.values = full(device, dtype, parameter().shape(), 0.0, Category::kOptimizer);
  if (size_of(dtype) != 1) return moment;
  const int64_t blocks = (numel(parameter().shape()) + kBlockSize - 1) / kBlockSize;
  moment.scales = full(device, DType::kF32, {blocks}, 0.0, Category::kOptimizer);
  return moment;
}

const void* OwnedParameter::grad_address() const { return at_shard(parameter(), parameter().grad()); }

UpdateSlot OwnedParameter::slot(int32_t index) const {
  const Parameter& source = parameter();
  const bool has_master = source.master().defined() && source.master().dtype() == DType::kF32;
  const Tensor& compute = has_master ? source.compute() : source.weights();
  return {.grad = grad_address(),
          .master = has_master ? static_cast<float*>(at_shard(source, source.master())) : nullptr,
          .compute = at_shard(source, compute),
          .remainder = static_cast<int16_t*>(at_shard(source, source.remainder())),
          .moment1 = moment1_.slot(),
          .moment2 = moment2_.slot(),
          .grad_dtype = source.grad().dtype(),
          .compute_dtype = compute.defined() ? compute.dtype() : DType::kF32,
          .size = source.shard().end - source.shard().begin,
          .group = group_,
          .parameter = index,
          .seed = source.device().context->seed(),
          .first_block = source.shard().begin / kBlockSize};
}

}  // namespace halftone::optim
