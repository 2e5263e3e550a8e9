#include "core/call_log.h"

#include <utility>

namespace halftone {

void CallLog::Steps::push_front(std::unique_ptr<Step> step) noexcept {
  if (first_ == nullptr) last_ = step.get();
  step->next = std::move(first_);
  first_ = std::move(step);
}

void CallLog::Steps::push_back(std::unique_ptr<Step> step) noexcept {
  if (first_ == nullptr) return push_front(std::move(step));
  last_->next = std::move(step);
  last_ = last_->next.get();
}

void CallLog::Steps::splice_front(Steps& other) noexcept {
  if (other.first_ == nullptr) return;
  if (first_ == nullptr) last_ = other.last_;
  other.last_->next = std::move(first_);
  first_ = std::move(other.first_);
}

void CallLog::Steps::splice_back(Steps& other) noexcept {
  other.splice_front(*this);
  std::swap(first_, other.first_);
  std::swap(last_, other.last_);
}

void CallLog::Steps::run() noexcept {
  while (const std::unique_ptr<Step> step = pop()) step->run();
}

std::unique_ptr<CallLog::Step> CallLog::Steps::pop() noexcept {
  std::unique_ptr<Step> popped = std::move(first_);
  if (popped != nullptr) first_ = std::move(popped->next);
  return popped;
}

CallLog::~CallLog() {
  thread().call_log = outer_;  // the actions are not part of this call
  if (!has_succeeded_) {
    for_failure_.run();
  } else if (outer_ == nullptr) {
    for_success_.run();
  } else {
    outer_->for_failure_.splice_front(for_failure_);
    outer_->for_success_.splice_back(for_success_);
  }
}

}  // namespace halftone
