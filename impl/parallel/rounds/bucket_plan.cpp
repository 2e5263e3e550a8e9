#include "parallel/rounds/bucket_plan.h"

#include <algorithm>
#include <map>
#include <utility>

namespace halftone::parallel {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kBlock = 256;  // elements; shards are cut between blocks

// The buckets in the making: one open bucket for each dtype.
class Planner {
 public:
  Planner(const BucketSizes& sizes, int64_t all_bytes)
      : sizes_{.first = sizes.first, .others = pipelined(all_bytes, sizes.first, sizes.others)} {}

  void add(size_t parameter, const GradientSize& gradient) {
    Open& open = open_[gradient.dtype];
    const auto element = static_cast<int64_t>(size_of(gradient.dtype));
    PlannedBucket& bucket = open.bucket;
    bucket.dtype = gradient.dtype;
    bucket.slots.push_back({parameter, bucket.size});
    bucket.size = rounded_up(bucket.size + gradient.numel, kLineBytes / element);
    open.last = ++added_;
    if (bucket.size * element >= (open.is_first ? sizes_.first : sizes_.others)) close(open);
  }

  std::vector<PlannedBucket> finish(int64_t tail) {
    std::vector<Open*> rest;
    for (auto& [dtype, open] : open_) {
      if (!open.bucket.slots.empty()) rest.push_back(&open);
    }
    std::sort(rest.begin(), rest.end(), [](const Open* a, const Open* b) { return a->last < b->last; });
    for (Open* open : rest) close(*open);
    if (!closed_.empty()) closed_.back().size += tail;
    for (PlannedBucket& bucket : closed_) bucket.size = rounded_up(bucket.size, kBlock);
    return std::move(closed_);
  }

 private:
  struct Open {
    PlannedBucket bucket;
    bool is_first = true;
    size_t last = 0;  // the number of the gradient that was added last
  };

  void close(Open& open) {
    closed_.push_back(std::exchange(open.bucket, {}));
    open.is_first = false;
  }

  const BucketSizes sizes_;
  std::map<DType, Open> open_;
  std::vector<PlannedBucket> closed_;
  size_t added_ = 0;
};

}  // namespace

std::vector<PlannedBucket> plan_buckets(const std::vector<GradientSize>& gradients, const std::vector<size_t>& order,
                                        const BucketSizes& sizes, int64_t tail) {
  int64_t all_bytes = 0;
  for (const size_t parameter : order) {
    all_bytes += gradients[parameter].numel * static_cast<int64_t>(size_of(gradients[parameter].dtype));
  }
  Planner planner(sizes, all_bytes);
  for (const size_t parameter : order) planner.add(parameter, gradients[parameter]);
  return planner.finish(tail);
}

}  // namespace halftone::parallel
