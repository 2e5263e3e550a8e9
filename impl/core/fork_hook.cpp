#include "core/fork_hook.h"

#include <pthread.h>

#include "core/error.h"

namespace halftone {
namespace {

// Held during a fork, so that the child finds the list consistent.
constinit std::mutex list_mutex;
constinit ForkHook* list_head = nullptr;

}  // namespace

void ForkHook::call_all(void (*Calls::*which)(void* owner) noexcept) noexcept {
  for (ForkHook* hook = list_head; hook != nullptr; hook = hook->next_) {
    if (hook->calls_.*which != nullptr) (hook->calls_.*which)(hook->owner_);
  }
}

bool ForkHook::install() {
  const int error = pthread_atfork(
      [] {
        list_mutex.lock();
        call_all(&Calls::before);
      },
      [] {
        call_all(&Calls::in_parent);
        list_mutex.unlock();
      },
      [] {
        call_all(&Calls::in_child);
        list_mutex.unlock();
      });
  if (error != 0) fail(Code::kOutOfMemory, "", "pthread_atfork failed with error %d", error);
  return true;
}

ForkHook::ForkHook(const Calls& calls, void* owner) : calls_(calls), owner_(owner) {
  // If install() throws, C++ leaves the variable uninitialised and the next hook tries again.
  [[maybe_unused]] static const bool installed = install();
  const std::lock_guard lock(list_mutex);
  next_ = list_head;
  if (next_ != nullptr) next_->previous_ = this;
  list_head = this;
}

ForkHook::~ForkHook() {
  const std::lock_guard lock(list_mutex);
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : list_head) = next_;
}

}  // namespace halftone
