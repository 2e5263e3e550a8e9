// The parts of gradients that were lost when they were coded. They are added to the gradients of the next backward, so
// that nothing is lost for good (error feedback). Used by CodedSum and its users, by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "tensor/tensor.h"

namespace halftone::parallel {

class Remainders {
 public:
  // The values that are coded: the gradients of a bucket, or the sum of a part that this rank owns.
  enum class Stage : uint8_t { kGradients, kSum };

  explicit Remainders(bool are_kept) : are_kept_(are_kept) {}

  // f32 [count], 0 at first, in memory that stays until forget(); undefined if no remainders are kept.
  Tensor find(size_t bucket, Stage stage, ContextDevice& device, int64_t count);
  // Buckets were laid out anew: an element belongs to another parameter.
  void forget() noexcept { tensors_.clear(); }
  // A round begins.
  void begin() noexcept {
    if (std::exchange(is_stale_, false)) forget();
  }
  // The round failed: its gradients are not used. Reductions may still be under way.
  void drop() noexcept { is_stale_ = true; }

 private:
  const bool are_kept_;
  bool is_stale_ = false;
  std::map<std::pair<size_t, Stage>, Tensor> tensors_;
};

}  // namespace halftone::parallel
