// The memory of a model's gradients: few flat buffers, of which each gradient is a view, so that backward writes into
// the memory that ranks reduce. Used by Replicate, by one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/parameter_set.h"
#include "parallel/rounds/bucket_plan.h"

namespace halftone::parallel {

class GradientBuckets {
 public:
  struct Slot {
    size_t parameter;
    Tensor view;  // of the parameter's shape
  };
  struct Bucket {
    Tensor flat;  // 1-D; the elements between the slots are 0
    std::vector<Slot> slots;
  };

  // `parameters` outlive this. The last bucket ends with `status_count` elements that belong to no gradient.
  GradientBuckets(const std::vector<NamedParameter>& parameters, BucketPlanner planner, int64_t status_count);

  // Lays the gradients out as backward completes them; they keep their values. Nothing changes where this throws
  // OUT_OF_MEMORY.
  void lay_out(std::vector<size_t> order);
  const std::vector<size_t>& order() const noexcept { return order_; }
  // False where a gradient has got other memory since, or another dtype: an optimizer chose it, or the parameter was
  // frozen for a while.
  bool is_current() const;

  const std::vector<Bucket>& buckets() const noexcept { return buckets_; }
  size_t bucket_of(size_t parameter) const noexcept { return places_[parameter].bucket; }
  const Tensor& view_of(size_t parameter) const noexcept {
    return buckets_[places_[parameter].bucket].slots[places_[parameter].slot].view;
  }
  // The last elements of the last bucket.
  Tensor status() const;

 private:
  struct Place {
    size_t bucket;
    size_t slot;
  };

  std::vector<Bucket> make_buckets(const std::vector<size_t>& order) const;
  Bucket make_bucket(const PlannedBucket& planned) const;

  const std::vector<NamedParameter>& parameters_;
  const BucketPlanner planner_;
  const int64_t status_count_;
  std::vector<size_t> order_;
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;  // by parameter
};

}  // namespace halftone::parallel
