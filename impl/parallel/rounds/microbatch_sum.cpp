#include "parallel/rounds/microbatch_sum.h"

#include <utility>

#include "parallel/rounds/wire_reduction.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

// target = a + b
void add_into(const Tensor& a, const Tensor& b, const Tensor& target) {
  launch("microbatch_sum", a.device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kAdd, a.view(),
         b.view(), target.view());
}

// The sum goes to the bucket as well, for the states of the ranks.
class RoundSum final : public WireReduction {
 public:
  RoundSum(const ReductionCall& call, MicrobatchSums& sums)
      : WireReduction(call, converted(call.bucket.flat, DType::kF32, Category::kCommunication), ReduceOp::kSum),
        sums_(sums),
        bucket_(call.index) {}
  bool advance() override {
    const bool is_complete = WireReduction::advance();
    sums_.add(bucket_, wire());
    return is_complete;
  }

 private:
  MicrobatchSums& sums_;
  const size_t bucket_;
};

}  // namespace

std::unique_ptr<Reduction> MicrobatchSums::start(const ReductionCall& call) {
  return std::make_unique<RoundSum>(call, *this);
}

void MicrobatchSums::reset() noexcept {
  for (auto& [bucket, sums] : buckets_) sums.levels.clear();
}

// As a carry moves through a binary counter. The earlier rounds are on the left.
void MicrobatchSums::add(size_t bucket, Tensor sum) {
  std::vector<Tensor>& levels = buckets_[bucket].levels;
  size_t level = 0;
  for (; level < levels.size() && levels[level].defined(); ++level) {
    add_into(levels[level], sum, sum);
    levels[level] = Tensor();
  }
  if (level == levels.size()) levels.emplace_back();
  levels[level] = std::move(sum);
}

Tensor MicrobatchSums::total(size_t bucket) {
  Sums& sums = buckets_[bucket];
  const Tensor* lowest = nullptr;
  for (const Tensor& level : sums.levels) {
    if (!level.defined()) continue;
    if (lowest == nullptr) {
      lowest = &level;
      if (!sums.total.defined() || !(sums.total.shape() == level.shape())) sums.total = empty_like(level);
      copy(level, sums.total);
    } else {
      add_into(level, sums.total, sums.total);
    }
  }
  return sums.total;
}

}  // namespace halftone::parallel
