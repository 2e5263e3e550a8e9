#include "autograd/parameter.h"

#include <utility>

#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

ParameterLeaf::ParameterLeaf(std::string name, const Tensor& master)
    : AccumulateGrad(master.device(), master.shape(), master.dtype()), name_(std::move(name)) {}

ParameterLeaf::~ParameterLeaf() { delete parameter_; }

Ref<Parameter> ParameterLeaf::parameter() const noexcept {
  return parameter_->retain_if_alive() ? Ref<Parameter>::adopt(parameter_) : nullptr;
}

Parameter::Parameter(std::string name, Tensor master, MasterMemory memory)
    : leaf_(make_ref<ParameterLeaf>(std::move(name), master)),
      master_(std::move(master)),
      shard_{.begin = 0, .end = master_.numel()},
      memory_(memory) {
  track(master_);
  leaf_->parameter_ = this;  // last: if this constructor threw, the leaf must not delete the object
}

Parameter::Parameter(std::string name, const Tensor& master, WeightFill fill) : Parameter(std::move(name), master) {
  deferred_ = make_ref<DeferredWeights>(master, std::move(fill));
}

// Another thread may be asking the leaf for this object, so the object, with its count of references, must stay until
// the leaf goes. Its tensors and hooks go now, even if a graph keeps the leaf.
void Parameter::dispose() noexcept {
  leaf_->post_accumulate_hooks().clear();
  weights_leaf_.reset();
  copy_leaf_.reset();
  for (Tensor* tensor : {&master_, &compute_, &remainder_, &shard_grad_, &gathered_}) *tensor = Tensor();
  ranks_ = nullptr;
  state_memory_ = nullptr;
  deferred_ = nullptr;
  const Ref<ParameterLeaf> leaf = std::move(leaf_);  // the last reference to it deletes this
}

// A part of a flat buffer is tracked apart from the parameters beside it.
void Parameter::track(const Tensor& tensor) const noexcept {
  if (tensor.defined() && tensor.is_part()) tensor.set_range(range_);
}

void Parameter::share(const Shard& shard, Tensor kept, Tensor gathered, Ref<ShardRanks> ranks) {
  weights_leaf_.reset();
  copy_leaf_.reset();
  shard_ = shard;
  master_ = std::move(kept);
  deferred_ = nullptr;
  gathered_ = std::move(gathered);
  ranks_ = std::move(ranks);
  track(master_);
  track(gathered_);
  mark_current();
}

void Parameter::read_shard(const Tensor& target) const {
  if (!is_split()) return bring_back(master_, target);
  if (target.dtype() == compute_.dtype()) return bring_back(compute_, target);
  if (target.dtype() == DType::kF32) return join_range(0, target);
  bring_back(joined(Category::kWorkspace), target);
}

Tensor Parameter::leaf() const {
  materialize();
  return is_frozen() ? weights() : weights_leaf_.get(weights(), *leaf_);
}

Tensor Parameter::new_leaf() const {
  const Tensor kept_leaf = leaf();
  Tensor made = kept_leaf.detach();
  made.set_gradient_source(kept_leaf.gradient_source());
  return made;
}

Tensor Parameter::leaf_in(DType dtype) const {
  materialize();
  if (const Tensor* tensor = readable(dtype)) {
    return (tensor == &weights() ? weights_leaf_ : copy_leaf_).get(*tensor, *leaf_);
  }
  Tensor cast = read(dtype);
  cast.set_gradient_source(leaf_);
  return cast;
}

const Tensor* Parameter::readable(DType dtype) const noexcept {
  if (dtype == weights().dtype()) return &weights();
  if (is_sharded()) return nullptr;
  const bool has_copy = !is_split() && compute_.defined() && dtype == compute_.dtype();
  return has_copy && is_current() ? &compute_ : nullptr;
}

Tensor Parameter::read(DType dtype) const {
  materialize();
  if (const Tensor* tensor = readable(dtype)) return tensor->detach();
  if (is_sharded() || !is_split()) return converted(weights(), dtype);
  const Tensor master = joined(Category::kActivations);
  return dtype == DType::kF32 ? master : converted(master, dtype);
}

Tensor Parameter::writable(const Tensor& values) const {
  if (!is_split()) return values;
  return values.dtype() == DType::kF32 ? contiguous(values) : converted(values, DType::kF32);
}

void Parameter::write(const Tensor& values) {
  if (is_split()) {
    launch("split_master", values.device(), &Kernels::optim, &OptimKernels::split_master, values.view(),
           compute_.view(), remainder_.view());
    return mark_updated();
  }
  if (const Ref<const StateStore> store = offloaded(master_)) {
    store->write(converted(values, master_.dtype()));
    return mark_updated();
  }
  copy(values, master_);
  update_copy();
}

void Parameter::update_copy() {
  if (compute_.defined()) copy(master_, compute_);
  mark_updated();
}

void Parameter::set_compute(Tensor compute) noexcept {
  compute_ = std::move(compute);
  track(compute_);
  of_version_ = kept().version();
  weights_leaf_.reset();  // split weights are the copy
  copy_leaf_.reset();
}

void Parameter::mark_updated() noexcept {
  if (master_.defined()) master_.bump_version();
  if (compute_.defined()) compute_.bump_version();
  if (gathered_.defined()) gathered_.bump_version();
}

Parameter::Representation Parameter::split_representation() const {
  if (is_split()) return {master_, compute_, remainder_};
  ContextDevice& device = master_.device();
  Representation made = {.master = {},
                         .compute = empty(device, DType::kBF16, master_.shape(), Category::kParameters),
                         .remainder = empty(device, DType::kI16, master_.shape(), Category::kOptimizer)};
  launch("split_master", device, &Kernels::optim, &OptimKernels::split_master, master_.view(), made.compute.view(),
         made.remainder.view());
  return made;
}

Parameter::Representation Parameter::whole_representation(DType compute_dtype) const {
  Representation made = {
      .master = is_split() ? joined(Category::kParameters) : master_, .compute = {}, .remainder = {}};
  // Sharded weights are gathered in the dtype that operations want, so a copy of the shard has no reader.
  if (compute_dtype != DType::kF32 && !is_sharded())
    made.compute = converted(made.master, compute_dtype, Category::kParameters);
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

Tensor Parameter::joined(Category category) const {
  const Tensor master = empty(compute_.device(), DType::kF32, compute_.shape(), category);
  join_range(0, master);
  return master;
}

// A stale remainder counts as zero.
void Parameter::join_range(int64_t begin, const Tensor& target) const {
  const auto range = [&](const Tensor& whole) {
    return whole.as_strided(target.shape(), contiguous_strides(target.shape()), whole.offset() + begin);
  };
  if (!is_current()) return bring_back(range(compute_), target);
  launch("join_master", compute_.device(), &Kernels::optim, &OptimKernels::join_master, range(compute_).view(),
         range(remainder_).view(), target.view());
}

Ref<Parameter> parameter_of(AccumulateGrad& leaf) noexcept {
  const ParameterLeaf* parameter_leaf = leaf.as_parameter_leaf();
  return parameter_leaf != nullptr ? parameter_leaf->parameter() : nullptr;
}

Ref<Parameter> parameter_of(const Tensor& tensor) noexcept {
  AccumulateGrad* accumulator = accumulator_of(tensor);
  return accumulator != nullptr ? parameter_of(*accumulator) : nullptr;
}

}  // namespace halftone
