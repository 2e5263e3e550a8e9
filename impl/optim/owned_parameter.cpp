#include "optim/owned_parameter.h"

#include <utility>

#include "autograd/placement/state_memory.h"
#include "autograd/weights/representation.h"
#include "backend/chunks.h"
#include "backend/kernels/optim.h"
#include "core/error.h"
#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone::optim {

namespace {

// Null where there is no tensor.
void* data_of(const Tensor& tensor) { return tensor.defined() ? tensor.data() : nullptr; }

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
  if (!named.parameter->owner().claim()) {
    fail(Code::kState, argument, "%s: parameter %s belongs to an optimizer already", argument, named.name.c_str());
  }
  named_.parameter = named.parameter;  // from here on the destructor gives it free
  named_.name = named.name;
}

OwnedParameter::~OwnedParameter() {
  if (!named_.parameter) return;  // moved from
  if (!parameter().weights().is_split()) parameter().weights().set_compute(Tensor());
  parameter().owner().release();
}

OwnedParameter::Arrangement OwnedParameter::arrange(const ParameterGroup& group, const Moments& kept) const {
  const Precision& precision = group.precision;
  if (!parameter().is_sharded()) parameter().weights().materialize();
  Arrangement arrangement = {.grad = {},
                             .grad_dtype = precision.grad_dtype,
                             .weights = weights_in(precision),
                             .moments = zero_moments(group, kept)};
  const Tensor& shard_grad = parameter().placement().shard_grad();
  if (parameter().is_sharded() && shard_grad.defined() && shard_grad.dtype() != precision.grad_dtype) {
    fail(Code::kState, group.argument, "%s: parameter %s has a gradient in another dtype than grad_dtype; call %s",
         group.argument, name(), "zero_grad first");
  }
  if (keeps_gradient(precision.grad_dtype)) {
    arrangement.grad = parameter().accumulator().memory().in(precision.grad_dtype);
  }
  return arrangement;
}

// Shared memory stays where it is, such as a part of a bucket. Else a gradient that is there now is
// converted, and backward allocates later ones. Ranks that share weights give memory to a whole gradient themselves.
bool OwnedParameter::keeps_gradient(DType grad_dtype) const {
  const AccumulateGrad& gradient = parameter().accumulator();
  if (!gradient.memory().exists()) return false;
  return gradient.memory().dtype() == grad_dtype || (gradient.has_grad() && !parameter().is_sharded());
}

void OwnedParameter::install(Arrangement arrangement, int64_t* updates) noexcept {
  parameter().accumulator().memory().take(std::move(arrangement.grad), arrangement.grad_dtype);
  parameter().weights().install(std::move(arrangement.weights));
  moments_ = std::move(arrangement.moments);
  updates_ = updates;
}

WeightRepresentation OwnedParameter::weights_in(const Precision& precision) const {
  const Weights& weights = parameter().weights();
  if (precision.master == Master::kSplit) return split_representation(weights);
  if (precision.master == Master::kNone) return narrow_representation(weights, precision.compute_dtype);
  return whole_representation(weights, precision.compute_dtype);
}

OwnedParameter::MomentList OwnedParameter::zero_moments(const ParameterGroup& group, const Moments& kept) const {
  const Precision& precision = group.precision;
  const Shape& shape = parameter().shape();
  if (kept.factored && shape.rank() >= 2) {
    const Shape matrices(shape.begin(), shape.rank() - 2);
    Shape rows = matrices, columns = matrices;
    rows.push_back(shape[shape.rank() - 2]);
    columns.push_back(shape[shape.rank() - 1]);
    return {zero_moment(group, 0, DType::kF32, rows), zero_moment(group, 1, DType::kF32, columns),
            zero_moment(group, 2, DType::kF32, matrices)};
  }
  // A whole parameter's moment has its shape, in which checkpoints save it.
  const int64_t size = range().size;
  const Shape own = size == numel(shape) ? shape : Shape{size};
  // The whole parameter's size counts, so that the storage does not depend on the number of ranks.
  const bool has_codes = numel(shape) >= precision.min_8bit_size;
  const auto stored = [&](DType wanted) { return size_of(wanted) == 1 && !has_codes ? DType::kF32 : wanted; };
  MomentList moments;
  if (kept.first) moments[0] = zero_moment(group, 0, stored(precision.moment1_dtype), own);
  if (kept.second) moments[1] = zero_moment(group, 1, stored(precision.moment2_dtype), own);
  if (kept.third) moments[2] = zero_moment(group, 2, stored(precision.moment1_dtype), own);
  return moments;
}

Moment OwnedParameter::zero_moment(const ParameterGroup& group, int32_t number, DType dtype, const Shape& shape) const {
  const auto zeros = [&](DType kind, int64_t size, bool is_scales) {
    if (const Ref<StateMemory>& memory = parameter().placement().state_memory()) {
      return memory->zeros(parameter(), {.moment = number, .is_scales = is_scales}, kind, size);
    }
    if (!group.moment_memory) return full(parameter().device(), kind, {size}, 0.0, Category::kOptimizer);
    const Tensor memory = group.moment_memory(parameter(), kind, size);
    fill(memory, 0.0);
    return memory;
  };
  Moment moment;
  const int64_t size = numel(shape);
  moment.values = zeros(dtype, size, false);
  moment.values = moment.values.as_strided(shape, contiguous_strides(shape), moment.values.offset());
  if (size_of(dtype) == 1) moment.scales = zeros(DType::kF32, (size + kBlockSize - 1) / kBlockSize, true);
  return moment;
}

ChunkRange OwnedParameter::range() const {
  const Shard& shard = parameter().placement().shard();
  return {.size = shard.end - shard.begin,
          .first_block = shard.begin / kBlockSize,
          .ends_parameter = shard.end == numel(parameter().shape())};
}

const void* OwnedParameter::grad_address() const {
  const Tensor& reduced = parameter().placement().shard_grad();
  return reduced.defined() ? reduced.data() : parameter().grad().data();
}

DType OwnedParameter::grad_dtype() const {
  const Tensor& reduced = parameter().placement().shard_grad();
  return reduced.defined() ? reduced.dtype() : parameter().grad().dtype();
}

UpdateSlot weights_slot(const Parameter& parameter) {
  const Weights& weights = parameter.weights();
  const Shard& shard = parameter.placement().shard();
  const bool has_master = !weights.is_split() && weights.kept().dtype() == DType::kF32;
  const Tensor& compute = has_master ? weights.compute() : weights.kept();
  UpdateSlot slot = {};
  slot.master = has_master ? static_cast<float*>(data_of(weights.kept())) : nullptr;
  slot.compute = data_of(compute);
  slot.compute_dtype = compute.defined() ? compute.dtype() : DType::kF32;
  slot.remainder = static_cast<int16_t*>(data_of(weights.remainder()));
  slot.size = shard.end - shard.begin;
  slot.seed = parameter.device().context->seed();
  slot.first_block = shard.begin / kBlockSize;
  return slot;
}

UpdateSlot OwnedParameter::slot(int32_t index) const {
  UpdateSlot slot = weights_slot(parameter());
  slot.grad = grad_address();
  slot.grad_dtype = grad_dtype();
  slot.moment1 = moments_[0].slot();
  slot.moment2 = moments_[1].slot();
  slot.moment3 = moments_[2].slot();
  const Shape& shape = parameter().shape();
  if (shape.rank() >= 2) {
    slot.rows = shape[shape.rank() - 2];
    slot.columns = shape[shape.rank() - 1];
  }
  slot.group = group_;
  slot.parameter = index;
  slot.updates = updates_;
  return slot;
}

}  // namespace halftone::optim
