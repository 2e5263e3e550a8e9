// A scope that a caller opened: the modes of the thread before it, its owner, and the handles that it will release. And
// stacks of scopes, which go along from thread to thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "autograd/scope.h"
#include "base/given_handles.h"
#include "base/objects.h"

struct htone_scope;
struct htone_scope_stack;

namespace halftone::capi {

struct OpenScope;

// A thread or a ScopeStack with open scopes. A thread's exists while it has an open scope or has entered a stack, and
// as long as handles of its scopes do.
class ScopeOwner final : public RefCounted {
 public:
  enum class Kind : uint8_t { kThread, kStack };

  // The owner of the scopes that the calling thread begins now; null where it has no open scope.
  static ScopeOwner* current() noexcept;
  // Makes the calling thread's where there is none. Throws OUT_OF_MEMORY.
  static Ref<ScopeOwner> current_or_new();
  // Forgets the calling thread's if it has neither an open scope nor a stack.
  static void forget_unused() noexcept;

  explicit ScopeOwner(Kind kind);
  Kind kind() const noexcept { return kind_; }
  // Returns true after the thread or stack has ended. In a forked child only the thread that forked has not.
  bool has_ended() const noexcept;
  // Called when the thread or stack ends. Any thread may end its scopes from now on. Releases those that were left.
  void end(OpenScope* innermost) noexcept;
  // Leaves a scope to its thread or stack, which ends it at a later call, or else when it ends. Returns false after
  // that.
  bool leave(OpenScope& open) noexcept;

 private:
  std::mutex leaving_;  // a scope is left before the thread ends, or not at all
  std::atomic<bool> has_ended_{false};
  const Kind kind_;
  const pid_t process_;
};

struct OpenScope final : RefCounted {
  ~OpenScope() override;
  // Its thread ends it from now on.
  void leave() noexcept;

  // The innermost scope of this thread; null where none is open.
  static OpenScope*& innermost() noexcept { return thread().open_scope; }

  ScopeModes before;
  Ref<ScopeOwner> owner;
  std::atomic<bool> is_left{false};     // its thread ends it as soon as it can
  int64_t depth = 0;                    // how many scopes were open with this one
  OpenScope* outer = nullptr;           // the scope around this one
  htone_scope* handle = nullptr;        // the caller's
  Ref<RefCounted> held;                 // what the modes point to; released when the scope ends
  std::unique_ptr<GivenHandles> given;  // only in a scope of htone_handles_begin
};

// Scopes that belong to no thread. A thread that has entered the stack begins and ends scopes there; another thread may
// go on with them later.
class ScopeStack final : public RefCounted {
 public:
  ScopeStack() : owner_(make_ref<ScopeOwner>(ScopeOwner::Kind::kStack)) {}
  ~ScopeStack() override { owner_->end(open_); }

  // Puts the scopes and modes of the stack in the place of the calling thread's, which wait until leave(). Throws
  // STATE where a thread has entered the stack, and inside a call that sets the modes back at its end.
  void enter();
  // REQUIRES: the calling thread has entered the stack, and no other one since.
  void leave() noexcept;

  ScopeOwner* owner() const noexcept { return owner_.get(); }

 private:
  // With the calling thread, which is the only one that does so: is_entered_ passes the stack on.
  void exchange() noexcept;

  const Ref<ScopeOwner> owner_;
  std::atomic<bool> is_entered_{false};
  // The state of the stack while it is not entered, and of the thread around it while it is.
  ScopeModes modes_;
  int64_t depth_ = 0;
  int64_t base_ = 0;
  OpenScope* open_ = nullptr;
  GivenHandles* given_ = nullptr;
  ScopeStack* entered_ = nullptr;  // by the thread before this one
  Ref<ScopeStack> itself_;         // while it is entered
};

template <>
struct HandleTraits<htone_scope> : HandleTo<Ref<OpenScope>, HandleType::kScope> {};
template <>
struct HandleTraits<htone_scope_stack> : HandleTo<Ref<ScopeStack>, HandleType::kScopeStack> {};

// Throws STATE inside a call that sets the modes back at its end. `what` begins the message.
void require_no_guards(const char* what);
// Saves the thread's modes before a change. Throws STATE inside a call that sets the modes back at its end.
Ref<OpenScope> open_scope();
// Makes the scope the innermost one and leaves its handle to the caller. Nothing can fail after it.
void enter(Ref<OpenScope> open, htone_scope** out);
// Ends a scope: brings back the modes from before it and releases its handles. Throws STATE where it is not the
// innermost scope of the calling thread, or was open before the callback under way began.
void end_scope(htone_scope* handle);
// Ends a scope as end_scope does, where that may be. Otherwise the thread of the scope ends it later.
void end_scope_later(htone_scope* handle);

// Stands around a callback, in which scopes may be opened and stacks entered: those that it leaves open end with it,
// and those that it has not left are left.
class CallbackScope {
 public:
  CallbackScope() noexcept : depth_(scope().depth) {
    scope().base = depth_;
    scope().guards = 0;
    thread().outer_scope_stack = thread().scope_stack;
  }
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  const int64_t depth_;
  const ThreadGuard<&Scope::base> base_;
  const ThreadGuard<&Scope::guards> guards_;
  const ThreadGuard<&Thread::outer_scope_stack> outer_scope_stack_;
};

}  // namespace halftone::capi
