// The threads of a block that share the terms of one output, and their reduction. Device code.
#pragma once

#include "cuda/base/device_code.h"
#include "cuda/reduce/geometry.h"

namespace halftone::cuda {

class Group {
 public:
  HALFTONE_DEVICE explicit Group(const FoldPlan& plan) : depth_(plan.depth) {
    const int thread = static_cast<int>(threadIdx.x);
    output_ = plan.by_columns ? thread % plan.width : thread / depth_;
    lane_ = plan.by_columns ? thread / plan.width : thread % depth_;
    first_ = plan.by_columns ? output_ : output_ * depth_;
    step_ = plan.by_columns ? plan.width : 1;
    is_in_warp_ = !plan.by_columns && depth_ <= kWarp;
  }

  HALFTONE_DEVICE int output() const { return output_; }  // among those of the block
  HALFTONE_DEVICE int lane() const { return lane_; }
  HALFTONE_DEVICE int depth() const { return depth_; }

  // True if a thread of the block has true: then all groups of a block go over their terms again, since their threads
  // wait for one another. All threads of the block call it.
  HALFTONE_DEVICE static bool any_in_block(bool value) { return __syncthreads_or(static_cast<int>(value)) != 0; }

  // On every thread the combination of the group's values, always in the same order. All threads of the block call it.
  template <class State, class Combine>
  HALFTONE_DEVICE State reduce(const State& value, Combine combine) const {
    __shared__ State values[kFoldThreads];
    if (depth_ == 1) return value;
    wait();  // the results of a call before this one may still be read
    values[at(lane_)] = value;
    wait();
    for (int half = depth_ / 2; half > 0; half /= 2) {
      if (lane_ < half) values[at(lane_)] = combine(values[at(lane_)], values[at(lane_ + half)]);
      wait();
    }
    return values[at(0)];
  }

 private:
  HALFTONE_DEVICE int at(int lane) const { return first_ + lane * step_; }
  HALFTONE_DEVICE void wait() const { is_in_warp_ ? __syncwarp() : __syncthreads(); }

  int output_;
  int lane_;
  int depth_;
  int first_;
  int step_;
  bool is_in_warp_;
};

}  // namespace halftone::cuda
