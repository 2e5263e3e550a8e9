// Callbacks of the embedding program. No lock is held while one runs, and its user data is destroyed once, with the
// last reference to it.
#pragma once

#include <cstring>
#include <string>

#include "base/guard.h"
#include "core/error.h"
#include "core/foreign_function.h"
#include "core/ref.h"
#include "scope/scope.h"

namespace halftone::capi {

// Counts the callbacks of this thread that run inside one another. A callback that makes the call that runs it would
// otherwise go on until the stack ends. Modules, which nest kMaxModuleDepth deep, leave room for the others.
class NestedCallback {
 public:
  static constexpr int kMost = 128;

  // Throws STATE beyond kMost.
  NestedCallback() {
    if (depth_ == kMost) {
      fail(Code::kState, "",
           "%d callbacks run inside one another, expected at most %d; does one make the call that runs it?", kMost + 1,
           kMost);
    }
    ++depth_;
  }
  ~NestedCallback() { --depth_; }
  NestedCallback(const NestedCallback&) = delete;
  NestedCallback& operator=(const NestedCallback&) = delete;

 private:
  static thread_local constinit inline int depth_ = 0;
};

// The message of the error that a callback has returned as its status; empty if no call failed with it meanwhile.
inline const char* reported_reason(htone_status status, uint64_t errors_before) noexcept {
  return error_count() != errors_before && last_error().status == status ? last_error().message : "";
}

// Throws CALLBACK with the status that a callback returned. Where that is the error of a call that the callback made,
// the message repeats the call's. Of callbacks that run inside one another it names the outermost and the innermost:
// the reason comes last, and a message has room for few names. Not inlined: each callback has a frame on the stack.
[[noreturn, gnu::noinline]] inline void fail_callback(const char* what, htone_status status, uint64_t errors_before) {
  const char* reason = reported_reason(status, errors_before);
  const std::string returned = " returned " + std::to_string(status) + " (" + htone_status_name(status) + ")";
  const std::string link = returned + ": ";
  const char* const inner = status == HTONE_ERROR_CALLBACK ? std::strstr(reason, link.c_str()) : nullptr;
  if (inner != nullptr) reason = inner + link.size();
  throw Error(Code::kCallback, status, "", (what + (*reason == '\0' ? returned : link + reason)).c_str());
}

template <class Function>
class Callback final : public RefCounted {
 public:
  Callback(Function function, void* user) : function_(function), user_(user) {}
  ~Callback() override {
    if (destroy_) destroy_(user_);
  }

  // Comes last: until the C function succeeds, `user` is its caller's.
  void set_destroy(void (*destroy)(void*)) noexcept { destroy_ = destroy; }

  // Throws CALLBACK with the status that the callback returned. `what` names the callback.
  template <class... Arguments>
  void call(const char* what, Arguments... arguments) const {
    const uint64_t errors_before = error_count();
    const htone_status status = run(arguments...);
    if (status != HTONE_OK) fail_callback(what, status, errors_before);
  }

 private:
  template <class... Arguments>
  htone_status run(Arguments... arguments) const {
    const NestedCallback nested;
    const CallbackScope scopes;
    return function_(arguments..., user_);
  }

  ForeignFunction<std::remove_pointer_t<Function>> function_;
  void* user_;
  ForeignFunction<void(void* user)> destroy_;
};

template <class Function>
Ref<Callback<Function>> make_callback(Function function, void* user) {
  if (function == nullptr) fail(Code::kInvalidArgument, "callback", "callback is NULL");
  return make_ref<Callback<Function>>(function, user);
}

}  // namespace halftone::capi
