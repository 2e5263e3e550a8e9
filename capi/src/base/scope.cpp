#include "base/scope.h"

#include <pthread.h>
#include <unistd.h>

namespace halftone::capi {

namespace {

// Runs while a thread ends. Its modes end here: destructors of other keys may still call the library, and the scopes'
// policies are no longer kept for this thread.
void end_thread(void* pointer) {
  scope().grad_enabled = true;
  scope().autocast = nullptr;
  scope().depth = 0;
  const auto owner = Ref<ScopeOwner>::adopt(static_cast<ScopeOwner*>(pointer));
  owner->mark_ended();
}

// A key, because its destructor runs on any thread of the caller's. The library stays loaded, so the destructor does.
struct OwnerKey {
  OwnerKey() {
    if (pthread_key_create(&key, end_thread) != 0) fail(Code::kOutOfMemory, "", "the process has no thread key left");
  }
  pthread_key_t key;
};

pthread_key_t owner_key() {
  static const OwnerKey made;
  return made.key;
}

}  // namespace

ScopeOwner::ScopeOwner() : process_(getpid()) {}

bool ScopeOwner::has_ended() const noexcept {
  return has_ended_.load(std::memory_order_acquire) || process_ != getpid();
}

ScopeOwner* ScopeOwner::current() noexcept {
  if (scope().depth == 0) return nullptr;
  return static_cast<ScopeOwner*>(pthread_getspecific(owner_key()));
}

Ref<ScopeOwner> ScopeOwner::current_or_new() {
  const pthread_key_t key = owner_key();
  if (void* known = pthread_getspecific(key)) return Ref<ScopeOwner>::share(static_cast<ScopeOwner*>(known));
  Ref<ScopeOwner> made = make_ref<ScopeOwner>();
  if (pthread_setspecific(key, made.get()) != 0) {
    fail(Code::kOutOfMemory, "", "no memory for this thread's first scope");
  }
  static_cast<void>(Ref<ScopeOwner>(made).detach());  // the key's reference
  return made;
}

void ScopeOwner::forget_current() noexcept {
  try {
    const pthread_key_t key = owner_key();
    const auto owner = Ref<ScopeOwner>::adopt(static_cast<ScopeOwner*>(pthread_getspecific(key)));
    pthread_setspecific(key, nullptr);
  } catch (...) {
    // Without the key no scope was opened.
  }
}

}  // namespace halftone::capi
