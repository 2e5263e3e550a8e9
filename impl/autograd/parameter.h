// A parameter: FP32 (or whatever the model was made in) master weights, the low-precision copy that an optimizer keeps
// beside them, the gradient, and the range that this process updates. An optimizer may split the weights: then a BF16
// tensor and a 16-bit remainder are the weights, and there is no master. It is its own accumulator, so that the leaf
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
  // Undefined where the weights are split.
  const Tensor& master() const noexcept { return master_; }
  const Shard& shard() const noexcept { return shard_; }

  // What operations read: the master, or the BF16 part of split weights.
  const Tensor& weights() const noexcept { return is_split() ? compute_ : master_; }
  // A leaf over weights(); results computed from it lead gradients here.
  Tensor leaf() const;
  // The same values in a dtype, without gradient source: the weights, the copy where it is current, else a cast (of the
  // joined FP32 where they are split) that is not kept, so that concurrent readers are safe.
  Tensor read(DType dtype) const;

  // The copy that the owning optimizer writes, or the BF16 part of split weights; undefined where there is neither.
  const Tensor& compute() const noexcept { return compute_; }
  // The optimizer's: gives the parameter a copy in `dtype` (none where it is the master's), current from now on.
  void set_compute(Tensor compute) noexcept;
  // The optimizer's: its update wrote the weights and what belongs to them.
  void mark_updated() noexcept;

  bool is_split() const noexcept { return remainder_.defined(); }
  // The 16 bits that split weights lack of FP32 (formula/split_master.h).
  const Tensor& remainder() const noexcept { return remainder_; }
  // The optimizer's: puts split weights in the master's place, or a master in theirs. The values stay; leaves made
  // before do not follow, and backward through them is STATE. Throws OUT_OF_MEMORY. REQUIRES for split: an f32 master.
  void split();
  void join();
  // The optimizer's, before an update: a remainder does not belong to weights that others wrote since.
  void drop_stale_remainder();

  // A parameter has one optimizer at a time. Answers whether it was free.
  bool claim() noexcept { return !claimed_.exchange(true); }
  void unclaim() noexcept { claimed_.store(false); }

 private:
  bool is_current() const noexcept { return of_version_ == weights().storage()->version(); }
  Tensor joined(Category category) const;

  std::string name_;
  Tensor master_;
  Tensor compute_;
  Tensor remainder_;
  uint64_t of_version_ = 0;  // the version of weights() that the copy, or the remainder, belongs to
  Shard shard_;
  std::atomic<bool> claimed_{false};
};

// The parameter that a leaf stands for, null where it is none.
Parameter* parameter_of(const Tensor& tensor) noexcept;

}  // namespace halftone
