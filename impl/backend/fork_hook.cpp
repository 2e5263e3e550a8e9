#include "backend/fork_hook.h"

#include <pthread.h>

#include <mutex>

#include "core/error.h"

namespace halftone {
namespace {

// Held during a fork, so that the child finds the list whole.
constinit std::mutex list_mutex;
constinit ForkHook* list_head = nullptr;

}  // namespace

void ForkHook::before_fork() noexcept { list_mutex.lock(); }

void ForkHook::after_fork_in_parent() noexcept { list_mutex.unlock(); }

void ForkHook::after_fork_in_child() noexcept {
  for (ForkHook* hook = list_head; hook != nullptr; hook = hook->next_) hook->reset_(hook->owner_);
  list_mutex.unlock();
}

bool ForkHook::install() {
  const int error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  if (error != 0) fail(Code::kOutOfMemory, "", "pthread_atfork failed with error %d", error);
  return true;
}

ForkHook::ForkHook(void (*reset)(void* owner) noexcept, void* owner) : reset_(reset), owner_(owner) {
  // Where installing throws, the next hook tries again.
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
