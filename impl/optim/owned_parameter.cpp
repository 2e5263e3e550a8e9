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

OwnedParameter::Arrangement OwnedParameter::arrange(const ParameterGroup& group, int moments) const {
  const Precision& precision = group.precision;
  Arrangement arrangement = {.grad = {},
                             .grad_dtype = precision.grad_dtype,
                             .weights = weights_in(precision),
                             .moment1 = moments > 0 ? zero_moment(group, precision.moment1_dtype) : Moment{},
                             .moment2 = moments > 1 ? zero_moment(group, precision.moment2_dtype) : Moment{}};
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

Moment OwnedParameter::zero_moment(const ParameterGroup& group, DType dtype) const {
  const auto zeros = [&](DType kind, int64_t size) {
    if (!group.moment_memory) return full(parameter().device(), kind, {size}, 0.0, Category::kOptimizer);
    const Tensor memory = group.moment_memory(parameter(), kind, size);
    fill(memory, 0.0);
    return memory;
  };
  Moment moment;
  const int64_t size = range().size;
  const Shape& shape = parameter().shape();
  // A whole parameter's moment has its shape, in which checkpoints save it.
  moment.values = zeros(dtype, size);
  if (size == numel(shape))
    moment.values = moment.values.as_strided(shape, contiguous_strides(shape), moment.values.offset());
  if (size_of(dtype) == 1) moment.scales = zeros(DType::kF32, (size + kBlockSize - 1) / kBlockSize);
  return moment;
}

ChunkRange OwnedParameter::range() const {
  const Shard& shard = parameter().shard();
  return {.size = shard.end - shard.begin,
          .first_block = shard.begin / kBlockSize,
          .ends_parameter = shard.end == numel(parameter().shape())};
}

const void* OwnedParameter::grad_address() const {
  const Tensor& reduced = parameter().shard_grad();
  return reduced.defined() ? reduced.data() : at_shard(parameter(), parameter().grad());
}

DType OwnedParameter::grad_dtype() const {
  const Tensor& reduced = parameter().shard_grad();
  return reduced.defined() ? reduced.dtype() : parameter().grad().dtype();
}

UpdateSlot weights_slot(const Parameter& parameter) {
  const bool has_master = parameter.master().defined() && parameter.master().dtype() == DType::kF32;
  const Tensor& compute = has_master ? parameter.compute() : parameter.weights();
  UpdateSlot slot = {};
  slot.master = has_master ? static_cast<float*>(at_shard(parameter, parameter.master())) : nullptr;
  slot.compute = at_shard(parameter, compute);
  slot.compute_dtype = compute.defined() ? compute.dtype() : DType::kF32;
  slot.remainder = static_cast<int16_t*>(at_shard(parameter, parameter.remainder()));
  slot.size = parameter.shard().end - parameter.shard().begin;
  slot.seed = parameter.device().context->seed();
  slot.first_block = parameter.shard().begin / kBlockSize;
  return slot;
}

UpdateSlot OwnedParameter::slot(int32_t index) const {
  UpdateSlot slot = weights_slot(parameter());
  slot.grad = grad_address();
  slot.grad_dtype = grad_dtype();
  slot.moment1 = moment1_.slot();
  slot.moment2 = moment2_.slot();
  slot.group = group_;
  slot.parameter = index;
  return slot;
}

}  // namespace halftone::optim
