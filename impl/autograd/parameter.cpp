#include "autograd/parameter.h"

#include <utility>

#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

Parameter::Parameter(std::string name, Tensor master, MasterMemory memory)
    : AccumulateGrad(master.device(), master.shape(), master.dtype()),
      name_(std::move(name)),
      master_(std::move(master)),
      shard_{.begin = 0, .end = master_.numel()},
      memory_(memory) {
  track(master_);
}

// A part of a flat buffer is tracked apart from the parameters beside it.
void Parameter::track(const Tensor& tensor) const noexcept {
  if (tensor.defined() && tensor.is_part()) tensor.set_range(range_);
}

Tensor Parameter::leaf() const {
  Tensor leaf = weights().detach();
  if (!is_frozen()) leaf.set_gradient_source(Ref<GradientSource>::share(const_cast<Parameter*>(this)));
  return leaf;
}

Tensor Parameter::read(DType dtype) const {
  if (dtype == weights().dtype()) return weights().detach();
  if (is_split()) {
    const Tensor master = joined(Category::kActivations);
    return dtype == DType::kF32 ? master : converted(master, dtype);
  }
  if (compute_.defined() && is_current() && dtype == compute_.dtype()) return compute_.detach();
  return converted(master_, dtype);
}

Tensor Parameter::writable(const Tensor& values) const {
  if (!is_split()) return values;
  return values.dtype() == DType::kF32 ? contiguous(values) : converted(values, DType::kF32);
}

void Parameter::write(const Tensor& values) {
  if (is_split()) {
    launch("split_master", values.device(), &Kernels::optim, &OptimKernels::split_master, values.view(),
           compute_.view(), remainder_.view());
  } else {
    copy(values, master_);
    if (compute_.defined()) copy(master_, compute_);
  }
  mark_updated();
}

void Parameter::set_compute(Tensor compute) noexcept {
  compute_ = std::move(compute);
  track(compute_);
  of_version_ = weights().version();
}

void Parameter::mark_updated() noexcept {
  if (master_.defined()) master_.bump_version();
  if (compute_.defined()) compute_.bump_version();
}

Parameter::Representation Parameter::split_representation() const {
  if (is_split()) return {master_, compute_, remainder_};
  ContextDevice& device = master_.device();
  Representation made = {.master = {},
                         .compute = empty(device, DType::kBF16, shape(), Category::kParameters),
                         .remainder = empty(device, DType::kI16, shape(), Category::kOptimizer)};
  launch("split_master", device, &Kernels::optim, &OptimKernels::split_master, master_.view(), made.compute.view(),
         made.remainder.view());
  return made;
}

Parameter::Representation Parameter::whole_representation(DType compute_dtype) const {
  Representation made = {
      .master = is_split() ? joined(Category::kParameters) : master_, .compute = {}, .remainder = {}};
  if (compute_dtype != DType::kF32) made.compute = converted(made.master, compute_dtype, Category::kParameters);
  return made;
}

Parameter::Representation Parameter::narrow_representation(DType dtype) const {
  const Tensor wide = is_split() ? joined(Category::kActivations) : master_;
  if (wide.dtype() == dtype) return {.master = wide, .compute = {}, .remainder = {}};
  return {.master = converted(wide, dtype, Category::kParameters), .compute = {}, .remainder = {}};
}

void Parameter::install(Representation made) noexcept {
  // Split weights that stay so are left alone: their remainder may be stale, and is not made current by this.
  if (is_split() && made.remainder.defined()) return;
  const Tensor before = weights();
  master_ = std::move(made.master);
  track(master_);
  remainder_ = std::move(made.remainder);
  set_compute(std::move(made.compute));
  if (weights().storage() != before.storage()) before.bump_version();
}

void Parameter::drop_stale_remainder() {
  if (!is_split() || is_current()) return;
  fill(remainder_, 0.0);
  of_version_ = compute_.version();
}

// A stale remainder counts as zero.
Tensor Parameter::joined(Category category) const {
  if (!is_current()) return converted(compute_, DType::kF32, category);
  const Tensor master = empty(compute_.device(), DType::kF32, shape(), category);
  launch("join_master", compute_.device(), &Kernels::optim, &OptimKernels::join_master, compute_.view(),
         remainder_.view(), master.view());
  return master;
}

Parameter* parameter_of(const Tensor& tensor) noexcept {
  AccumulateGrad* accumulator = accumulator_of(tensor);
  return accumulator != nullptr ? accumulator->as_parameter() : nullptr;
}

}  // namespace halftone
