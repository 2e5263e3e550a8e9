// A scope that a caller opened: the modes of the thread before it, its owner, and the handles that it will release.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "autograd/scope.h"
#include "base/given_handles.h"
#include "base/objects.h"

struct htone_scope;

namespace halftone::capi {

struct OpenScope;

// A thread with open scopes. It exists while the thread has one, and as long as handles of its scopes do.
class ScopeOwner final : public RefCounted {
 public:
  // The calling thread's; null where it has no open scope.
  static ScopeOwner* current() noexcept;
  // Makes the calling thread's where there is none. Throws OUT_OF_MEMORY.
  static Ref<ScopeOwner> current_or_new();
  // The calling thread has no open scope any more.
  static void forget_current() noexcept;

  ScopeOwner();
  // Returns true after the thread has ended. In a forked child only the thread that forked has not.
  bool has_ended() const noexcept;
  // Called when the thread ends. Other threads may end its scopes from now on, but those that were left to it, which it
  // must release: returns them, linked by `outer`.
  OpenScope* mark_ended(OpenScope* innermost) noexcept;
  // Leaves a scope of the thread to it: it ends it at a later call, or else when it ends. Returns false after that.
  bool leave(OpenScope& open) noexcept;

 private:
  std::mutex leaving_;  // a scope is left before the thread ends, or not at all
  std::atomic<bool> has_ended_{false};
  const pid_t process_;
};

struct OpenScope final : RefCounted {
  ~OpenScope() override;
  // Its thread ends it from now on.
  void leave() noexcept;

  // The innermost scope of this thread; null where none is open.
  static OpenScope*& innermost() noexcept {
    static thread_local constinit OpenScope* scope = nullptr;
    return scope;
  }

  Scope before;
  Ref<ScopeOwner> owner;
  std::atomic<bool> is_left{false};     // its thread ends it as soon as it can
  int64_t depth = 0;                    // how many scopes were open with this one
  OpenScope* outer = nullptr;           // the scope around this one
  htone_scope* handle = nullptr;        // the caller's
  Ref<RefCounted> held;                 // what the modes point to; released when the scope ends
  std::unique_ptr<GivenHandles> given;  // only in a scope of htone_handles_begin
};

template <>
struct HandleTraits<htone_scope> : HandleTo<Ref<OpenScope>, HandleType::kScope> {};

// Saves the thread's modes before a change. Throws STATE inside a call that sets the modes back at its end.
Ref<OpenScope> open_scope();
// Makes the scope the innermost one and leaves its handle to the caller. Nothing can fail after it.
void enter(Ref<OpenScope> open, htone_scope** out);
// Ends a scope: brings back the modes from before it and releases its handles. Throws STATE where it is not the
// innermost scope of the calling thread, or was open before the callback under way began.
void end_scope(htone_scope* handle);
// Ends a scope as end_scope does, where that may be. Otherwise the thread of the scope ends it later.
void end_scope_later(htone_scope* handle);

// Stands around a callback, in which scopes may be opened: those that it leaves open end with it.
class CallbackScope {
 public:
  CallbackScope() noexcept : before_(scope()) {
    scope().base = before_.depth;
    scope().guards = 0;
  }
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  const Scope before_;
};

}  // namespace halftone::capi
