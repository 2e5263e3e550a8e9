/** @file
 * Handles and errors for C++17: objects of the C interface that release themselves, and statuses that become
 * exceptions. htone.hpp includes this header and adds tensors, operators and scopes.
 *
 * Everything is inline over the C interface and keeps no state. A Handle owns a reference of its own, so a program that
 * uses handles needs no scope of htone_handles_begin. It must not let a handle that was made in one outlive it: the
 * scope releases that reference, too. Threads: as for the C handles.
 */
#ifndef HALFTONE_HANDLE_HPP
#define HALFTONE_HANDLE_HPP

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "halftone/reference.hpp"

/** The C++ interface over the functions htone_... */
namespace htone {

/** A failed call of the library; what() is its message: the function, the argument, expected against actual. */
class Error : public std::runtime_error {
 public:
  /** Describes a failure.
   *
   * @param[in] status the status that the call returned.
   * @param[in] message for what().
   * @param[in] argument_index position of the argument at fault, from 0; -1 if no single argument is.
   * @param[in] native_code errno, a driver's or a callback's own code; 0 if there is none.
   */
  explicit Error(htone_status status, const std::string& message, int32_t argument_index = -1, int32_t native_code = 0)
      : std::runtime_error(message), status_(status), argument_index_(argument_index), native_code_(native_code) {}

  /** @return the status that the call returned. */
  htone_status status() const noexcept { return status_; }

  /** @return the position of the argument at fault, from 0; -1 if no single argument is. */
  int32_t argument_index() const noexcept { return argument_index_; }

  /** @return errno, a driver's or a callback's own code; 0 if there is none. */
  int32_t native_code() const noexcept { return native_code_; }

 private:
  htone_status status_;
  int32_t argument_index_;
  int32_t native_code_;
};

/** Throws an Error with the message of htone_error_last, unless the status is HTONE_OK.
 *
 * @param[in] status the result of a call that this thread has just made.
 */
inline void check(htone_status status) {
  if (status == HTONE_OK) return;
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  // A status that no call of this thread returned has no message: the last one is about another call.
  if (htone_error_last(&info) != HTONE_OK || info.status != status) throw Error(status, htone_status_name(status));
  throw Error(status, info.message, info.argument_index, info.native_code);
}

/** Owns one reference of an object, or none: it moves and does not copy. A moved-from handle is empty. Calls that get
 * an empty one fail with INVALID_HANDLE.
 */
template <typename T>
class UniqueHandle {
 public:
  /** The type of the C interface. */
  using Object = T;

  /** Makes an empty handle. */
  UniqueHandle() noexcept = default;

  /** Takes over a reference that the caller owns.
   *
   * @param[in] owned optional; the result of a call.
   */
  explicit UniqueHandle(T* owned) noexcept : object_(owned) {}

  /** Takes the reference of another handle.
   *
   * @param[in] other empty afterwards.
   */
  UniqueHandle(UniqueHandle&& other) noexcept : object_(other.release()) {}

  /** Releases the reference and moves that of another handle here.
   *
   * @param[in] other empty afterwards.
   * @return this handle.
   */
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }

  /** Releases the reference. A failure, as of a scope that is not the innermost, is ignored. */
  ~UniqueHandle() { reset(); }

  /** @return the object, for a call that borrows it; NULL if the handle is empty. */
  T* get() const noexcept { return object_; }

  /** Empties the handle.
   *
   * @return the reference, which the caller owns.
   */
  [[nodiscard]] T* release() noexcept { return std::exchange(object_, nullptr); }

  /** Releases the reference and takes over another.
   *
   * @param[in] owned optional; a reference that the caller owns.
   */
  void reset(T* owned = nullptr) noexcept {
    T* old = std::exchange(object_, owned);
    if (old != nullptr) static_cast<void>(reference::release(old));
  }

  /** Releases the reference.
   *
   * @return the place for a result: `htone_sum(x, 0, NULL, 0, sum.out())`.
   */
  [[nodiscard]] T** out() noexcept {
    reset();
    return &object_;
  }

  /** Returns true if the handle is not empty. */
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

/** A UniqueHandle that also copies: each copy owns a reference of its own to the same object. */
template <typename T>
class Handle : public UniqueHandle<T> {
 public:
  using UniqueHandle<T>::UniqueHandle;

  /** Makes an empty handle. */
  Handle() noexcept = default;

  /** Adds a reference. Throws Error if the object has been released elsewhere.
   *
   * @param[in] other a handle of the object.
   */
  Handle(const Handle& other) : UniqueHandle<T>(retained(other.get())) {}

  /** Takes the reference of another handle.
   *
   * @param[in] other empty afterwards.
   */
  Handle(Handle&& other) noexcept = default;

  /** Releases the reference and adds one to the other handle's object. Throws Error and changes nothing if that object
   * has been released elsewhere.
   *
   * @param[in] other a handle of the object.
   * @return this handle.
   */
  Handle& operator=(const Handle& other) {
    this->reset(retained(other.get()));
    return *this;
  }

  /** Releases the reference and moves that of another handle here.
   *
   * @param[in] other empty afterwards.
   * @return this handle.
   */
  Handle& operator=(Handle&& other) noexcept = default;

 protected:
  /** Adds a reference to an object, if there is one.
   *
   * @param[in] object optional.
   * @return object.
   */
  static T* retained(T* object) {
    if (object != nullptr) check(reference::retain(object));
    return object;
  }

  template <typename Shared>
  friend Shared share(typename Shared::Object* borrowed);
};

/** Makes a handle with a reference of its own of an object that the caller does not own, as a callback gets it.
 *
 * @param[in] borrowed optional; the object.
 * @return a handle; empty for NULL.
 */
template <typename Shared>
Shared share(typename Shared::Object* borrowed) {
  return Shared(Shared::retained(borrowed));
}

using AutocastPolicy = Handle<htone_autocast_policy>; /**< amp.h */
using Batches = Handle<htone_batches>;                /**< data.h */
using Checkpoint = Handle<htone_checkpoint>;          /**< checkpoint.h */
using Context = Handle<htone_context>;                /**< context.h */
using Device = Handle<htone_device>;                  /**< device.h */
using Ema = Handle<htone_ema>;                        /**< ema.h */
using Function = Handle<htone_function>;              /**< custom.h */
using GradScaler = Handle<htone_grad_scaler>;         /**< grad_scaler.h */
using Graph = Handle<htone_graph>;                    /**< graph.h */
using Hook = Handle<htone_hook>;                      /**< hooks.h */
using Module = Handle<htone_module>;                  /**< nn.h */
using Optimizer = Handle<htone_optimizer>;            /**< optim.h */
using Parameter = Handle<htone_parameter>;            /**< parameters.h */
using Parameters = Handle<htone_parameters>;          /**< parameters.h */
using Recipe = Handle<htone_recipe>;                  /**< recipe.h */
using Sampler = Handle<htone_sampler>;                /**< data.h */
using Scaled = Handle<htone_scaled>;                  /**< scaled.h */
using Schedule = Handle<htone_schedule>;              /**< schedule.h */
using ScopeStack = Handle<htone_scope_stack>;          /**< scope_stack.h */
using StateDict = Handle<htone_state_dict>;           /**< state_dict.h */
using Statistics = Handle<htone_statistics>;          /**< statistics.h */
using Trainer = Handle<htone_trainer>;                /**< trainer.h */
using Scope = UniqueHandle<htone_scope>;              /**< scope.h; ends on the thread that began it */

/** Returns the object of a handle, so that call and make accept handles.
 *
 * @param[in] handle an argument of a call.
 * @return its object.
 */
template <typename T>
auto argument(const T& handle, int) noexcept -> decltype(static_cast<typename T::Object*>(handle.get())) {
  return handle.get();
}

/** Returns any other argument: a handle prefers the overload for int.
 *
 * @param[in] value an argument of a call.
 * @return value.
 */
template <typename T>
const T& argument(const T& value, long) noexcept {
  return value;
}

/** Calls a function of the library and throws Error if it fails: `call(htone_optimizer_step, optimizer)`.
 *
 * @param[in] function returns an htone_status.
 * @param[in] arguments those of the function; a handle passes its object. NULL is written nullptr.
 */
template <typename Call, typename... Arguments>
void call(Call function, const Arguments&... arguments) {
  check(function(argument(arguments, 0)...));
}

/** Calls a function of the library whose last parameter is its one result. Throws Error if it fails.
 *
 * @code
 * Tensor sum = make<Tensor>(htone_add, a, b);
 * @endcode
 *
 * @param[in] function returns an htone_status.
 * @param[in] arguments those of the function but the last, as for call.
 * @return the result.
 */
template <typename Result, typename Call, typename... Arguments>
[[nodiscard]] Result make(Call function, const Arguments&... arguments) {
  Result result;
  check(function(argument(arguments, 0)..., result.out()));
  return result;
}

/** Returns the objects of handles, for functions with an array parameter.
 *
 * @param[in] handles any number.
 * @return their objects, which are valid while the handles are.
 */
template <typename H>
std::vector<typename H::Object*> objects(const std::vector<H>& handles) {
  std::vector<typename H::Object*> found;
  for (const H& handle : handles) found.push_back(handle.get());
  return found;
}

}  // namespace htone

#endif
