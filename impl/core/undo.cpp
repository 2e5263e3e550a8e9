#include "core/undo.h"

#include <utility>

namespace halftone {

thread_local constinit Undo* Undo::current_ = nullptr;

void Undo::push(std::unique_ptr<Step> step) noexcept {
  step->before = std::move(last_);
  last_ = std::move(step);
}

// Takes one step off the list at a time: destroying the whole list at once would recurse once per step.
std::unique_ptr<Undo::Step> Undo::pop() noexcept {
  std::unique_ptr<Step> popped = std::move(last_);
  if (popped != nullptr) last_ = std::move(popped->before);
  return popped;
}

Undo::~Undo() {
  // Hands the actions to the outer call, in front of its own: the last change is undone first.
  if (is_kept_ && outer_ != nullptr && last_ != nullptr) {
    Step* first = last_.get();
    while (first->before != nullptr) first = first->before.get();
    first->before = std::move(outer_->last_);
    outer_->last_ = std::move(last_);
  }
  while (const std::unique_ptr<Step> step = pop()) {
    if (!is_kept_) step->take_back();
  }
  current_ = outer_;
}

}  // namespace halftone
