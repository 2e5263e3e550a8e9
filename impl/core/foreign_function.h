// Calls of code that is not the library's: callbacks and deleters of a caller, the functions of its tables (allocator,
// files, clock, log), and the system's file functions, which are in such a table as well. Every pointer to such a
// function is a ForeignFunction, so that every call is guarded.
#pragma once

#include <pthread.h>

#include <concepts>
#include <utility>

#include "core/float_environment.h"

namespace halftone {

// Keeps the thread from being cancelled (pthread_cancel) until the end of a block. A cancellation unwinds the stack,
// and the library's functions catch everything or are noexcept: it would end the process. This stands only around what
// may hold a cancellation point, because it takes two atomic writes.
class CancellationGuard {
 public:
  CancellationGuard() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved_); }
  ~CancellationGuard() { pthread_setcancelstate(saved_, nullptr); }
  CancellationGuard(const CancellationGuard&) = delete;
  CancellationGuard& operator=(const CancellationGuard&) = delete;

 private:
  int saved_ = PTHREAD_CANCEL_ENABLE;
};

// Stands around a call of foreign code: the thread is not cancelled in it, and floating-point modes that it changes are
// set back.
struct ForeignCall {
  CancellationGuard no_cancellation;
  FloatEnvironmentKeeper modes;
};

// A pointer to such a function; may be null.
template <class Signature>
class ForeignFunction;

template <class Result, class... Arguments>
class ForeignFunction<Result(Arguments...)> {
 public:
  using Pointer = Result (*)(Arguments...);

  constexpr ForeignFunction() = default;
  template <std::convertible_to<Pointer> Function>
  constexpr ForeignFunction(Function function) noexcept : function_(function) {}

  // REQUIRES: not null.
  Result operator()(Arguments... arguments) const {
    const ForeignCall around;
    return function_(arguments...);
  }

  constexpr explicit operator bool() const noexcept { return function_ != nullptr; }
  friend constexpr bool operator==(ForeignFunction a, ForeignFunction b) noexcept { return a.function_ == b.function_; }

 private:
  Pointer function_ = nullptr;
};

}  // namespace halftone
