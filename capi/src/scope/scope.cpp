#include "scope/scope.h"

#include <pthread.h>
#include <unistd.h>

#include "base/left_scopes.h"
#include "core/error.h"

namespace halftone::capi {

namespace {

// Runs while a thread ends. Its modes end here: destructors of other keys may still call the library, and the scopes'
// policies are no longer kept for this thread.
void end_thread(void* pointer) {
  const auto owner = Ref<ScopeOwner>::adopt(static_cast<ScopeOwner*>(pointer));
  while (ScopeStack* const entered = thread().scope_stack) entered->leave();
  static_cast<ScopeModes&>(scope()) = {};
  scope().depth = 0;
  thread().given_handles = nullptr;
  owner->end(std::exchange(OpenScope::innermost(), nullptr));
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

ScopeOwner::ScopeOwner(Kind kind) : kind_(kind), process_(getpid()) {}

bool ScopeOwner::has_ended() const noexcept {
  return has_ended_.load(std::memory_order_acquire) || process_ != getpid();
}

bool ScopeOwner::leave(OpenScope& open) noexcept {
  if (process_ != getpid()) return false;  // in a forked child the lock may be that of a thread that is not there
  const std::lock_guard lock(leaving_);
  if (has_ended()) return false;
  open.leave();
  return true;
}

ScopeOwner* ScopeOwner::current() noexcept {
  if (scope().depth == 0) return nullptr;
  if (const ScopeStack* const entered = thread().scope_stack) return entered->owner();
  return static_cast<ScopeOwner*>(pthread_getspecific(owner_key()));
}

Ref<ScopeOwner> ScopeOwner::current_or_new() {
  if (const ScopeStack* const entered = thread().scope_stack) return Ref<ScopeOwner>::share(entered->owner());
  const pthread_key_t key = owner_key();
  if (void* known = pthread_getspecific(key)) return Ref<ScopeOwner>::share(static_cast<ScopeOwner*>(known));
  Ref<ScopeOwner> made = make_ref<ScopeOwner>(Kind::kThread);
  if (pthread_setspecific(key, made.get()) != 0) {
    fail(Code::kOutOfMemory, "", "no memory for this thread's first scope");
  }
  static_cast<void>(Ref<ScopeOwner>(made).detach());  // the key's reference
  return made;
}

void ScopeOwner::forget_unused() noexcept {
  if (scope().depth != 0 || thread().scope_stack != nullptr) return;
  try {
    const pthread_key_t key = owner_key();
    const auto owner = Ref<ScopeOwner>::adopt(static_cast<ScopeOwner*>(pthread_getspecific(key)));
    pthread_setspecific(key, nullptr);
  } catch (...) {
    // Without the key no scope was opened.
  }
}

void OpenScope::leave() noexcept {
  if (!is_left.exchange(true, std::memory_order_acq_rel)) left_scope_count.fetch_add(1, std::memory_order_relaxed);
}

OpenScope::~OpenScope() {
  if (is_left.load(std::memory_order_relaxed)) left_scope_count.fetch_sub(1, std::memory_order_relaxed);
  ScopeOwner::forget_unused();
}

void require_no_guards(const char* what) {
  if (scope().guards == 0) return;
  fail(Code::kState, "", "%s inside another call of this thread, outside of a callback whose header allows it", what);
}

void ScopeStack::enter() {
  require_no_guards("a stack of scopes cannot be entered");
  // Keeps the thread's own, so that it leaves the stack when it ends.
  const auto owner = ScopeOwner::current_or_new();
  if (is_entered_.exchange(true, std::memory_order_acquire)) {
    ScopeOwner::forget_unused();
    fail(Code::kState, "stack", "stack is in use: this thread or another one has entered it and not left it");
  }
  itself_ = Ref<ScopeStack>::share(this);
  exchange();
  entered_ = std::exchange(thread().scope_stack, this);
}

void ScopeStack::leave() noexcept {
  const Ref<ScopeStack> itself = std::move(itself_);
  exchange();
  thread().scope_stack = entered_;
  is_entered_.store(false, std::memory_order_release);
  ScopeOwner::forget_unused();
}

void ScopeStack::exchange() noexcept {
  Thread& current = thread();
  std::swap(static_cast<ScopeModes&>(current.scope), modes_);
  std::swap(current.scope.depth, depth_);
  std::swap(current.scope.base, base_);
  std::swap(current.open_scope, open_);
  std::swap(current.given_handles, given_);
}

Ref<OpenScope> open_scope() {
  require_no_guards("scopes cannot be begun");
  Ref<OpenScope> open = make_ref<OpenScope>();
  open->before = scope();
  open->depth = scope().depth + 1;
  open->outer = OpenScope::innermost();
  open->owner = ScopeOwner::current_or_new();
  return open;
}

void enter(Ref<OpenScope> open, htone_scope** out) {
  OpenScope& entered = *open;
  wrap(out, std::move(open));
  entered.handle = *out;
  OpenScope::innermost() = &entered;
  ++scope().depth;
}

namespace {

// Brings back the modes from before the innermost scope of this thread, and releases its handles.
void end_innermost() noexcept {
  OpenScope& open = *OpenScope::innermost();
  static_cast<ScopeModes&>(scope()) = open.before;
  scope().depth = open.depth - 1;
  OpenScope::innermost() = open.outer;
  open.given.reset();
  const Ref<RefCounted> held = std::move(open.held);
  drop_handle(open.handle);
}

// Releases what a scope of an ended thread or stack owns, and its handle. The modes ended with it.
void release_ended(OpenScope& open) noexcept {
  open.given.reset();
  const Ref<RefCounted> held = std::move(open.held);
  drop_handle(open.handle);
}

bool is_of_this_thread(const OpenScope& open) noexcept { return open.owner.get() == ScopeOwner::current(); }

[[noreturn]] void fail_elsewhere(const OpenScope& open) {
  if (open.owner->kind() == ScopeOwner::Kind::kStack) {
    fail(Code::kState, "scope",
         "scope belongs to a stack of scopes that is not the one in use on this thread; enter that one, or leave the "
         "scope to it by htone_scope_end_later");
  }
  fail(Code::kState, "scope",
       "scope was begun on another thread, which still runs, or outside of the stack of scopes in use on this one; end "
       "it there, or leave it to that thread by htone_scope_end_later");
}

// Returns whether no call that is under way on this thread began before the scope and needs its modes.
bool may_end(const OpenScope& open) noexcept { return scope().guards == 0 && open.depth > scope().base; }

}  // namespace

void ScopeOwner::end(OpenScope* innermost) noexcept {
  OpenScope* left = nullptr;
  OpenScope** last = &left;
  {
    const std::lock_guard lock(leaving_);
    for (OpenScope* open = innermost; open != nullptr; open = open->outer) {
      if (!open->is_left.load(std::memory_order_relaxed)) continue;
      *last = open;
      last = &open->outer;
    }
    *last = nullptr;
    has_ended_.store(true, std::memory_order_release);
  }
  while (left != nullptr) {
    OpenScope* const open = std::exchange(left, left->outer);
    release_ended(*open);
  }
}

void end_left_scopes() noexcept {
  OpenScope* open = OpenScope::innermost();
  for (; open != nullptr && open->is_left.load(std::memory_order_acquire) && may_end(*open);
       open = OpenScope::innermost()) {
    end_innermost();
  }
}

void end_scope(htone_scope* handle) {
  const auto open = hold(handle, "scope");
  const Scope& current = scope();
  if (!is_of_this_thread(*open)) {
    if (open->owner->has_ended()) return release_ended(*open);
    fail_elsewhere(*open);
  }
  if (!may_end(*open)) {
    fail(Code::kState, "scope", "scope was begun before the call that is under way on this thread; end it afterwards");
  }
  if (open->depth != current.depth) {
    fail(Code::kState, "scope", "scope is number %lld of the %lld open ones; end the inner ones first",
         static_cast<long long>(open->depth), static_cast<long long>(current.depth));
  }
  end_innermost();
}

void end_scope_later(htone_scope* handle) {
  const auto open = hold(handle, "scope");
  if (!is_of_this_thread(*open)) {
    if (!open->owner->leave(*open)) release_ended(*open);
    return;
  }
  open->leave();
  end_left_scopes();
}

CallbackScope::~CallbackScope() {
  while (thread().scope_stack != thread().outer_scope_stack) thread().scope_stack->leave();
  while (scope().depth > depth_) end_innermost();
}

}  // namespace halftone::capi
