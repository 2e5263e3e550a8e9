// A parameter: FP32 (or whatever the model was made in) master weights, the low-precision copy that an optimizer keeps
// beside them, the gradient, and the range that this process updates. It is its own accumulator, so that the leaf
// tensors that stand for it share one gradient.
#pragma once

#include <atomic>
#include <string>

#include "autograd/accumulate_grad.h"

namespace halftone {

// A range of the flattened parameter: what an optimizer updates here.
struct Shard {
  int64_t begin = 0;
  int64_t end = 0;
};

class Parameter final : public AccumulateGrad {
 public:
  // `master` requires no gradient and is not shared.
  Parameter(std::string name, Tensor master);

  const char* name() const noexcept override { return name_.c_str(); }
  Parameter* as_parameter() noexcept override { return this; }
  const Tensor& master() const noexcept { return master_; }
  const Shard& shard() const noexcept { return shard_; }

  // A leaf over the master weights; results computed from it lead gradients here.
  Tensor leaf() const;
  // The same values in a dtype, without gradient source: the master, the copy where it is current, else a cast that is
  // not kept, so that concurrent readers are safe.
  Tensor read(DType dtype) const;

  // The copy that the owning optimizer writes; undefined where there is none.
  const Tensor& compute() const noexcept { return compute_; }
  // The optimizer's: gives the parameter a copy in `dtype` (none where it is the master's), current from now on.
  void set_compute(Tensor compute) noexcept;
  // The optimizer's: its update wrote master and copy.
  void mark_updated() noexcept;

  // A parameter has one optimizer at a time. Answers whether it was free.
  bool claim() noexcept { return !claimed_.exchange(true); }
  void unclaim() noexcept { claimed_.store(false); }

 private:
  std::string name_;
  Tensor master_;
  Tensor compute_;
  uint64_t compute_of_version_ = 0;  // the master's version that compute_ was made from
  Shard shard_;
  std::atomic<bool> claimed_{false};
};

// The parameter that a leaf stands for, null where it is none.
Parameter* parameter_of(const Tensor& tensor) noexcept;

}  // namespace halftone
