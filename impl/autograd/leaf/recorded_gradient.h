// The state of a leaf's gradient in a recorded step: what the function left, which each replay leaves again.
#pragma once

#include "autograd/leaf/leaf_gradient.h"
#include "runtime/recorded_step.h"

namespace halftone {

class RecordedGradient final : public ReplayedState {
 public:
  // REQUIRES: `gradient` is a member of `leaf`.
  RecordedGradient(Node& leaf, LeafGradient& gradient, bool starts_anew);
  ~RecordedGradient() override;

  // Registers the gradient unless that was done. Call before it changes; `starts_anew` if the first change drops the
  // gradient of before.
  static void record(RecordedStep& step, Node& leaf, LeafGradient& gradient, bool starts_anew) noexcept;

  void end_recording() override;
  void check() const override;
  void replayed() noexcept override;
  void abandon() noexcept override;

 private:
  const char* name() const noexcept;
  const void* address() const noexcept;

  Ref<Node> leaf_;
  LeafGradient& gradient_;
  LeafGradient::State before_;
  // The first change writes or adds, by the state that the leaf has then.
  bool depends_on_before_;
  LeafGradient::State after_ = LeafGradient::State::kEmpty;
  bool is_scaled_after_ = false;
  const void* address_ = nullptr;
};

}  // namespace halftone
