#include "parallel/shard/gradient_shards.h"

#include <algorithm>
#include <utility>

#include "parallel/coded/coded_sum.h"
#include "parallel/mesh/started_work.h"
#include "parallel/rounds/averages.h"
#include "parallel/shard/flats/flat.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

// target += addend, of any float dtypes.
void add(const Tensor& addend, const Tensor& target) {
  launch("add_gradients", target.device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kAdd,
         target.view(), addend.view(), target.view());
}

bool is_narrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

}  // namespace

// Reduces a bucket over the ranks of the group, and then this rank's part over the replicas.
class GradientShards::PartReduction final : public Reduction {
 public:
  PartReduction(const ReductionCall& call, GradientShards& shards)
      : shards_(shards),
        call_(call),
        wire_(shards.wire_of(call.bucket.flat)),
        own_(part_of(wire_, call.exchange)),
        work_(call.exchange.start_reduce_scatter(wire_, own_, op(), call.options())) {}

  bool advance() override {
    work_->wait();
    if (call_.exchange.size(Axis::kReplicas) > 1 && !is_among_replicas_) {
      is_among_replicas_ = true;
      work_.emplace(call_.exchange.start_all_reduce(own_, op(), call_.options(1), Axis::kReplicas));
      return false;
    }
    shards_.take(call_.index, own_);
    return true;
  }

 private:
  static Tensor part_of(const Tensor& wire, const Exchange& exchange) {
    const int64_t part = wire.numel() / exchange.size();
    return range_of(wire, part * exchange.rank(), part * (exchange.rank() + 1));
  }
  // Gradients that are sent in another 16 bits were divided before.
  ReduceOp op() const {
    const bool is_divided = shards_.rule_.wire && is_narrow(*shards_.rule_.wire);
    return shards_.rule_.is_deterministic || is_divided ? ReduceOp::kSum : ReduceOp::kAverage;
  }

  GradientShards& shards_;
  const ReductionCall call_;
  const Tensor wire_;
  const Tensor own_;
  std::optional<StartedWork> work_;
  bool is_among_replicas_ = false;
};

// The average of a bucket whose gradients travel as codes.
class GradientShards::CodedReduction final : public Reduction {
 public:
  CodedReduction(const ReductionCall& call, GradientShards& shards)
      : shards_(shards), index_(call.index), sum_(call, shards.remainders_) {}

  bool advance() override {
    shards_.take(index_, sum_.finish());
    // The elements between gradients are NaN after an overflow, and the next backward does not write them.
    if (shards_.rule_.keeps_buckets) shards_.fill_gaps(shards_.parts_[index_]);
    return true;
  }

 private:
  GradientShards& shards_;
  const size_t index_;
  CodedSum sum_;
};

GradientShards::GradientShards(const std::vector<NamedParameter>& parameters, const Exchange& exchange,
                               const GradientRule& rule)
    : parameters_(parameters), exchange_(exchange), rule_(rule), remainders_(rule.keeps_remainders) {}

GradientShards::~GradientShards() {
  for (const NamedParameter& named : parameters_) named.parameter->accumulator().memory().set_owner(nullptr);
}

std::string GradientShards::name() const {
  const std::string wire = rule_.wire ? std::string(" in ") + name_of(*rule_.wire) : "";
  return (rule_.is_deterministic ? "sums of shards" : "averages of shards") + wire +
         (rule_.wire == DType::kF8E5M2 && rule_.keeps_remainders ? ", error feedback" : "");
}

void GradientShards::follow(const GradientBuckets& buckets) {
  std::vector<Part> parts;
  for (const GradientBuckets::Bucket& bucket : buckets.buckets()) {
    const int64_t size = bucket.flat.numel() / exchange_.size(), first = size * exchange_.rank();
    Part part = {.own = range_of(bucket.flat, first, first + size), .sum = {}, .gaps = {}};
    int64_t end = 0;
    for (const GradientBuckets::Slot& slot : bucket.slots) {
      if (slot.view.offset() > end) part.gaps.push_back(range_of(bucket.flat, end, slot.view.offset()));
      end = slot.view.offset() + slot.view.numel();
    }
    if (bucket.flat.numel() > end) part.gaps.push_back(range_of(bucket.flat, end, bucket.flat.numel()));
    parts.push_back(std::move(part));
  }
  remainders_.forget();
  buckets_ = &buckets;
  parts_ = std::move(parts);
  memories_.clear();
  for (size_t i = 0; i < parts_.size(); ++i) {
    BucketMemory& memory = memories_.emplace_back(*this, i);
    bool is_filled = false;
    for (const GradientBuckets::Slot& slot : buckets.buckets()[i].slots) {
      AccumulateGrad& leaf = parameters_[slot.parameter].parameter->accumulator();
      leaf.memory().set_owner(&memory);
      is_filled = is_filled || leaf.has_grad();
    }
    if (!rule_.keeps_buckets && !is_filled) buckets.buckets()[i].flat.storage()->release_memory();
  }
}

void GradientShards::begin(bool is_by_hand) {
  remainders_.begin();
  if (is_by_hand && !rule_.is_deterministic) drop_shards();
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (has_sum(i)) return;
  }
  microbatches_.reset();
}

// The gradients of earlier backwards, which no zero_grad has dropped since.
bool GradientShards::has_sum(size_t index) const {
  const auto& slots = buckets_->buckets()[index].slots;
  return std::any_of(slots.begin(), slots.end(), [&](const GradientBuckets::Slot& slot) {
    return parameters_[slot.parameter].parameter->placement().shard_grad().defined();
  });
}

// The first gradient of a backward is about to be written into the bucket, where the sum of the earlier ones may be;
// afterwards this does nothing.
void GradientShards::prepare(size_t index) {
  Part& part = parts_[index];
  Storage& storage = *part.own.storage();
  if (storage.is_released()) {
    storage.refill();
    fill_gaps(part);
  }
  if (!has_sum(index) || !part.sum.defined() || part.sum.storage().get() != &storage) return;
  const std::vector<uint8_t> none(parameters_.size());
  give(index, converted(part.sum, part.sum.dtype(), Category::kGradients), none);
}

void GradientShards::fill_gaps(const Part& part) const {
  for (const Tensor& gap : part.gaps) fill(gap, 0.0);
}

std::unique_ptr<Reduction> GradientShards::start(const ReductionCall& call) {
  const Part& part = parts_[call.index];
  if (part.own.storage()->is_released()) {  // a backward that failed takes part with zeros
    part.own.storage()->refill();
    fill(call.bucket.flat, 0.0);
  }
  if (rule_.wire == DType::kF8E5M2) return std::make_unique<CodedReduction>(call, *this);
  return std::make_unique<PartReduction>(call, *this);
}

Tensor GradientShards::wire_of(const Tensor& flat) const {
  if (rule_.is_deterministic) {
    return flat.dtype() == DType::kF32 ? flat : converted(flat, DType::kF32, Category::kCommunication);
  }
  if (!rule_.wire) return flat;
  if (!is_narrow(*rule_.wire)) {
    return flat.dtype() == *rule_.wire ? flat : converted(flat, *rule_.wire, Category::kCommunication);
  }
  return divided(flat, exchange_.model_size(), *rule_.wire);
}

// From here on a delivery begins a gradient of its own. A gradient in memory of the caller's stays there.
void GradientShards::take(size_t index, const Tensor& reduced) {
  add_up(index, reduced);
  for (const GradientBuckets::Slot& slot : buckets_->buckets()[index].slots) {
    AccumulateGrad& leaf = parameters_[slot.parameter].parameter->accumulator();
    if (!leaf.gradient().is_brought()) leaf.gradient().mark_taken();
  }
  if (!rule_.keeps_buckets) parts_[index].own.storage()->release_memory();
}

void GradientShards::add_up(size_t index, const Tensor& reduced) {
  Part& part = parts_[index];
  if (rule_.is_deterministic) {
    microbatches_.add(index, converted(reduced, DType::kF32, Category::kGradients));
    part.sum = microbatches_.total(index);
    return;
  }
  const bool goes_on = has_sum(index);
  if (rule_.keeps_buckets) {
    if (reduced.data() != part.own.data()) copy(reduced, part.own);
    if (goes_on) add(part.sum, part.own);
    part.sum = part.own;
    return;
  }
  if (!part.sum.defined())
    part.sum = empty(part.own.device(), part.own.dtype(), part.own.shape(), Category::kGradients);
  if (goes_on) {
    add(reduced, part.sum);
  } else {
    copy(reduced, part.sum);
  }
}

// Hands the parts of the bucket's gradients to the optimizer: those that `anywhere` lists, all if it is empty, and
// those that the optimizer has from earlier backwards.
void GradientShards::give(size_t index, const Tensor& sum, const std::vector<uint8_t>& anywhere) {
  parts_[index].sum = sum;
  const int64_t first = sum.numel() * exchange_.rank();
  for (const GradientBuckets::Slot& slot : buckets_->buckets()[index].slots) {
    Parameter& parameter = *parameters_[slot.parameter].parameter;
    if (!anywhere.empty() && anywhere[slot.parameter] == 0 && !parameter.placement().shard_grad().defined()) continue;
    const Shard& shard = parameter.placement().shard();
    const int64_t begin = slot.view.offset() + shard.begin - first, size = shard.end - shard.begin;
    parameter.placement().set_shard_grad(size == 0 ? range_of(sum, 0, 0) : range_of(sum, begin, begin + size));
  }
}

bool GradientShards::deliver(const std::vector<uint8_t>& anywhere) {
  for (size_t i = 0; i < parts_.size(); ++i) give(i, parts_[i].sum, anywhere);
  return true;
}

void GradientShards::drop() noexcept {
  remainders_.drop();
  drop_shards();
}

void GradientShards::drop_shards() noexcept {
  for (const NamedParameter& named : parameters_) named.parameter->placement().set_shard_grad({});
}

}  // namespace halftone::parallel
