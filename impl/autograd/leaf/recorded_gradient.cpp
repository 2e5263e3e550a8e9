#include "autograd/leaf/recorded_gradient.h"

#include <new>

#include "core/error.h"

namespace halftone {

RecordedGradient::RecordedGradient(Node& leaf, LeafGradient& gradient, bool starts_anew)
    : leaf_(Ref<Node>::share(&leaf)), gradient_(gradient), before_(gradient.state()), depends_on_before_(!starts_anew) {
  gradient_.memory().add_recording();
}

RecordedGradient::~RecordedGradient() { gradient_.memory().remove_recording(); }

void RecordedGradient::record(RecordedStep& step, Node& leaf, LeafGradient& gradient, bool starts_anew) noexcept {
  if (&step.device() != &gradient.memory().device() || step.state_of(&leaf) != nullptr) return;
  try {
    step.add_state(&leaf, make_ref<RecordedGradient>(leaf, gradient, starts_anew));
  } catch (const std::bad_alloc&) {
    step.lose_state();
  }
}

const char* RecordedGradient::name() const noexcept {
  const char* const parameter = leaf_->parameter_name();
  return parameter != nullptr ? parameter : "a tensor";
}

const void* RecordedGradient::address() const noexcept {
  const LeafMemory& memory = gradient_.memory();
  return memory.exists() ? memory.tensor().data() : nullptr;
}

// A brought gradient is the caller's memory, which the function would look up anew in each step.
void RecordedGradient::end_recording() {
  if (gradient_.is_brought() || gradient_.has_total()) {
    fail(Code::kState, "", "the gradient of %s was brought by the function; a graph cannot repeat that", name());
  }
  after_ = gradient_.state();
  is_scaled_after_ = gradient_.was_scaled();
  address_ = address();
}

void RecordedGradient::check() const {
  if (depends_on_before_ && gradient_.state() != before_) {
    const bool had_one = before_ == LeafGradient::State::kValid;
    fail(Code::kState, "",
         "%s had %s gradient when the graph was captured, and has %s now; zero gradients in the graph", name(),
         had_one ? "a" : "no", had_one ? "none" : "one");
  }
  if (address() != address_) {
    fail(Code::kState, "", "the gradient of %s has other memory than when the graph was captured; capture again",
         name());
  }
}

void RecordedGradient::replayed() noexcept { gradient_.reset_to(after_, is_scaled_after_); }

// Its memory does not hold what the function computed.
void RecordedGradient::abandon() noexcept {
  if (gradient_.state() == LeafGradient::State::kValid) gradient_.invalidate();
}

}  // namespace halftone
