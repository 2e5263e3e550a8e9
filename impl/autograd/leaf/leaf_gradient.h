// The gradient of a leaf: the one owner of its values, and what is known of them. The values are in the leaf's memory,
// or in a tensor that the caller lends, which is only read. Used by one thread at a time.
#pragma once

#include <cstdint>

#include "autograd/graph/node.h"
#include "autograd/leaf/leaf_memory.h"

namespace halftone {

class LeafGradient {
 public:
  // kInvalid: a backward failed half-way, so the gradient must not be used until it is dropped, or another is brought;
  // what is delivered until then is dropped.
  enum class State { kEmpty, kValid, kInvalid };

  LeafGradient(ContextDevice& device, const Shape& shape, DType dtype) : memory_(device, shape, dtype) {}

  LeafMemory& memory() noexcept { return memory_; }
  const LeafMemory& memory() const noexcept { return memory_; }

  State state() const noexcept { return state_; }
  bool exists() const noexcept { return state_ == State::kValid || shows_total(); }
  // REQUIRES: exists()
  const Tensor& values() const noexcept { return is_brought() || shows_total() ? lent_ : memory_.tensor(); }
  bool is_invalid() const noexcept { return state_ == State::kInvalid; }
  void invalidate() noexcept { state_ = State::kInvalid; }
  // Values were written to the memory.
  void mark_stored() noexcept;

  // True if the values are those of AccumulateGrad::bring_grad.
  bool is_brought() const noexcept { return lent_.defined() && !is_total_; }
  // For an engine that adds the deliveries of many backwards itself: values() is `total` until the next delivery, which
  // is written and not added. The engine brings the next total in a post-accumulate hook or at the end of backward.
  // REQUIRES: as AccumulateGrad::bring_grad
  void bring_total(Tensor total) noexcept;
  // True from bring_total until the gradient is dropped, or until another one is brought.
  bool has_total() const noexcept { return lent_.defined() && is_total_; }
  // The memory's owner has taken the gradient: there is none, and the next delivery is written. What is known of it,
  // the scale and the rank that was not finite, lasts until the gradient is dropped.
  void mark_taken() noexcept;

  // A backward of a loss that a gradient scaler made delivers here. This lasts until the gradient is dropped, or
  // another one is brought.
  void mark_scaled() noexcept { is_scaled_ = true; }
  bool was_scaled() const noexcept { return is_scaled_; }
  bool has_scaled() const noexcept { return exists() && is_scaled_; }

  // While other threads use the values: a backward that would deliver here throws STATE with this text before it
  // computes anything. Null ends it.
  void reserve(const char* reason) noexcept { reason_ = reason; }
  const char* reserved_because() const noexcept { return reason_; }

  // The rank whose part of the gradient was not finite before ranks were reduced; -1 if none was, or they were not
  // compared. Lasts until the gradient is dropped.
  int32_t not_finite_rank() const noexcept { return not_finite_rank_; }
  void set_not_finite_rank(int32_t rank) noexcept { not_finite_rank_ = rank; }

 private:
  friend class AccumulateGrad;    // calls these so that a recorded step knows of the change
  friend class RecordedGradient;  // repeats a change

  GradSink sink();
  void bring(Tensor grad) noexcept;
  void drop() noexcept;
  // Drops lent values and the rank that was not finite.
  void reset_to(State state, bool is_scaled) noexcept;

  void lend(Tensor tensor, bool is_total) noexcept;
  bool shows_total() const noexcept { return state_ == State::kEmpty && has_total(); }

  LeafMemory memory_;
  Tensor lent_;            // in place of the memory: a gradient, or a total while nothing was delivered since
  bool is_total_ = false;  // lent_
  State state_ = State::kEmpty;
  bool is_scaled_ = false;
  int32_t not_finite_rank_ = -1;
  const char* reason_ = nullptr;  // of reserve
};

}  // namespace halftone
