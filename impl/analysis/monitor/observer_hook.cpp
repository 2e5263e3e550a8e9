#include "analysis/monitor/observer_hook.h"

#include <new>

#include "core/error.h"

namespace halftone::analysis {

ObserverHook* ObserverHook::install(Observer& target) {
  drop_removed();
  auto* hook = new ObserverHook(target);
  thread().observer = hook;
  return hook;
}

void ObserverHook::remove() noexcept {
  target_.store(nullptr, std::memory_order_release);
  if (is_of_this_thread()) drop_removed();
}

void ObserverHook::drop_removed() noexcept {
  for (;;) {
    auto* hook = dynamic_cast<ObserverHook*>(thread().observer);
    if (hook == nullptr || hook->target_.load(std::memory_order_acquire) != nullptr) return;
    thread().observer = hook->outer_;
    delete hook;
  }
}

void ObserverHook::saw(const Recorded& recorded) {
  if (Observer* target = target_.load(std::memory_order_acquire)) target->saw(recorded);
  if (outer_ != nullptr) outer_->saw(recorded);
}

}  // namespace halftone::analysis
