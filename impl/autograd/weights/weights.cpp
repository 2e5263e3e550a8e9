#include "autograd/weights/weights.h"

#include <utility>

#include "autograd/weights/weight_codes.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

Weights::Weights(Tensor master, WeightFill fill) : kept_(std::move(master)), codes_(std::make_unique<KeptCodes>()) {
  track(kept_);
  if (fill) deferred_ = make_ref<DeferredWeights>(kept_, std::move(fill));
}

Weights::~Weights() = default;

// A part of a flat buffer is tracked apart from the parameters beside it.
void Weights::track(const Tensor& tensor) const noexcept {
  if (tensor.defined() && tensor.is_part()) tensor.set_range(range_);
}

void Weights::share(Tensor kept, Tensor gathered) noexcept {
  drop_copies();
  kept_ = std::move(kept);
  deferred_ = nullptr;
  gathered_ = std::move(gathered);
  track(kept_);
  track(gathered_);
  mark_current();
}

Tensor Weights::leaf(DType dtype, GradientSource& source) const {
  materialize();
  if (dtype == tensor().dtype()) return leaf_.get(tensor(), source);
  if (!is_sharded() && has_current_copy(dtype)) return copy_leaf_.get(copy_, source);
  Tensor cast = read(dtype);
  cast.set_gradient_source(Ref<GradientSource>::share(&source));
  return cast;
}

const Tensor* Weights::readable(DType dtype) const noexcept {
  if (dtype == tensor().dtype()) return &tensor();
  return !is_sharded() && has_current_copy(dtype) ? &copy_ : nullptr;
}

Tensor Weights::read(DType dtype) const {
  materialize();
  if (const Tensor* existing = readable(dtype)) return existing->detach();
  if (is_sharded() || !is_split()) return converted(tensor(), dtype);
  const Tensor master = joined(Category::kActivations);
  return dtype == DType::kF32 ? master : converted(master, dtype);
}

// A stale remainder counts as zero.
void Weights::read_range(int64_t begin, const Tensor& target) const {
  const auto range = [&](const Tensor& whole) {
    return whole.as_strided(target.shape(), contiguous_strides(target.shape()), whole.offset() + begin);
  };
  if (!is_split() || !is_current() || target.dtype() == kept_.dtype()) return bring_back(range(kept_), target);
  if (target.dtype() != DType::kF32) {
    const Tensor wide = empty(target.device(), DType::kF32, target.shape(), Category::kWorkspace);
    read_range(begin, wide);
    return bring_back(wide, target);
  }
  launch("join_master", kept_.device(), &Kernels::optim, &OptimKernels::join_master, range(kept_).view(),
         range(remainder_).view(), target.view());
}

Tensor Weights::joined(Category category) const {
  const Tensor master = empty(kept_.device(), DType::kF32, kept_.shape(), category);
  read_range(0, master);
  return master;
}

void Weights::write(const Tensor& values) {
  if (!is_split()) {
    copy(values, kept_);
    return update_copy();
  }
  launch("split_master", values.device(), &Kernels::optim, &OptimKernels::split_master, values.view(), kept_.view(),
         remainder_.view());
  mark_updated();
}

void Weights::update_copy() {
  if (compute().defined()) copy(kept_, compute());
  mark_updated();
}

void Weights::drop_stale_remainder() {
  if (!is_split() || is_current()) return;
  fill(remainder_, 0.0);
  of_version_ = kept_.version();
}

void Weights::mark_updated() const noexcept {
  kept_.bump_version();
  if (copy_.defined()) copy_.bump_version();
  if (gathered_.defined()) gathered_.bump_version();
}

void Weights::mark_current() noexcept { of_version_ = kept_.version(); }

// The leaf tensors are over them.
void Weights::drop_copies() noexcept {
  leaf_.reset();
  copy_leaf_.reset();
  copy_ = Tensor();
  codes_->clear();
}

void Weights::set_compute(Tensor compute) noexcept {
  track(compute);
  copy_leaf_.reset();
  copy_ = std::move(compute);
  mark_current();
}

void Weights::install(WeightRepresentation made) noexcept {
  // Split weights that stay so are left alone: their remainder may be stale, and is not made current by this.
  if (is_split() && made.remainder.defined()) return;
  const Tensor before = tensor();
  kept_ = std::move(made.kept);
  track(kept_);
  remainder_ = std::move(made.remainder);
  drop_copies();
  set_compute(std::move(made.copy));
  if (tensor().storage() != before.storage()) before.bump_version();
}

Tensor writable(const Weights& weights, const Tensor& values) {
  if (!weights.is_split()) return values;
  return values.dtype() == DType::kF32 ? contiguous(values) : converted(values, DType::kF32);
}

}  // namespace halftone
