#include "autograd/leaf/leaf_gradient.h"

#include <utility>

#include "tensor/factory.h"

namespace halftone {

void LeafGradient::lend(Tensor tensor, bool is_total) noexcept {
  lent_ = std::move(tensor);
  is_total_ = is_total;
}

GradSink LeafGradient::sink() {
  const bool is_valid = state_ == State::kValid;
  if (!is_valid || is_brought()) memory_.prepare();
  const Tensor& memory = memory_.allocate();
  if (is_brought()) {
    if (is_valid && lent_.storage() != memory.storage()) copy(lent_, memory);
    lent_ = Tensor();
  }
  return {.tensor = memory, .store = is_valid ? Store::kAdd : Store::kWrite};
}

// After a failed backward the earlier contributions are lost, and one contribution is no gradient.
void LeafGradient::mark_stored() noexcept {
  memory_.tensor().bump_version();
  if (!is_invalid()) state_ = State::kValid;
}

void LeafGradient::bring(Tensor grad) noexcept {
  lend(std::move(grad), false);
  state_ = State::kValid;
  is_scaled_ = false;
}

void LeafGradient::bring_total(Tensor total) noexcept {
  lend(std::move(total), true);
  state_ = State::kEmpty;
}

void LeafGradient::mark_taken() noexcept {
  lent_ = Tensor();
  state_ = State::kEmpty;
}

void LeafGradient::drop() noexcept {
  reset_to(State::kEmpty, false);
  memory_.release_unless_shared();
}

void LeafGradient::reset_to(State state, bool is_scaled) noexcept {
  lent_ = Tensor();
  not_finite_rank_ = -1;
  state_ = state;
  is_scaled_ = is_scaled;
}

}  // namespace halftone
