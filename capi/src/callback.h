// Callbacks of a host, and the handles that go in and out of one. No lock is held while a callback runs, and its user
// data is destroyed once, with the last reference to it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "arguments.h"
#include "core/foreign_function.h"
#include "guard.h"

namespace halftone::capi {

template <class Function>
class Callback final : public RefCounted {
 public:
  Callback(Function function, void* user) : function_(function), user_(user) {}
  ~Callback() override {
    if (destroy_) destroy_(user_);
  }

  // Comes last: until the C function succeeds, `user` is its caller's.
  void set_destroy(void (*destroy)(void*)) noexcept { destroy_ = destroy; }

  // Throws CALLBACK with what the callback answered, and with the library's own message where it passes on what a call
  // of it answered; `what` names the callback.
  template <class... Arguments>
  void call(const char* what, Arguments... arguments) const {
    const uint64_t errors_before = error_count();
    const htone_status status = function_(arguments..., user_);
    if (status == HTONE_OK) return;
    const bool is_passed_on = error_count() != errors_before && last_error().status == status;
    fail_callback(what, status, is_passed_on ? last_error().message : "");
  }

 private:
  [[noreturn]] static void fail_callback(const char* what, htone_status status, const char* reason) {
    std::string message =
        std::string(what) + " answered " + std::to_string(status) + " (" + htone_status_name(status) + ")";
    if (*reason != '\0') message += std::string(": ") + reason;
    throw Error(Code::kCallback, status, "", message.c_str());
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

// Gives back a reference of a handle, unless the callback did so itself.
template <class Handle>
void drop_handle(Handle* handle) noexcept {
  HandleTable& table = HandleTable::instance();
  Slot* slot = table.find(handle, HandleTraits<Handle>::kType);
  if (slot != nullptr) table.release<typename HandleTraits<Handle>::Object>(*slot);
}

// For handles of a module whose method runs.
inline Ref<nn::Module> shared(const nn::Module& module) {
  return Ref<nn::Module>::share(const_cast<nn::Module*>(&module));
}

// A handle that lives as long as a callback.
template <class Handle>
class LentHandle {
 public:
  explicit LentHandle(typename HandleTraits<Handle>::Object object) { wrap(&handle_, std::move(object)); }
  ~LentHandle() { drop_handle(handle_); }
  LentHandle(const LentHandle&) = delete;
  LentHandle& operator=(const LentHandle&) = delete;

  Handle* get() const noexcept { return handle_; }

 private:
  Handle* handle_ = nullptr;
};

// Tensors that are lent to a callback, or places where it leaves some; given back in either case.
class TensorHandles {
 public:
  explicit TensorHandles(size_t count) : handles_(count) {}
  // NULL for undefined ones.
  explicit TensorHandles(const std::vector<Tensor>& tensors) : TensorHandles(tensors.size()) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].defined()) wrap(&handles_[i], tensors[i]);
    }
  }
  ~TensorHandles() {
    for (htone_tensor* handle : handles_) drop_handle(handle);
  }
  TensorHandles(const TensorHandles&) = delete;
  TensorHandles& operator=(const TensorHandles&) = delete;

  htone_tensor** data() noexcept { return handles_.data(); }
  htone_tensor* const* data() const noexcept { return handles_.data(); }
  // To a caller, who owns them from now on.
  void hand_over(htone_tensor** out) noexcept {
    std::copy(handles_.begin(), handles_.end(), out);
    handles_.clear();
  }
  // What the callback left, undefined for NULL. Throws INVALID_HANDLE; `what` names the callback.
  Tensor left(size_t i, const char* what) const {
    htone_tensor* handle = handles_[i];
    if (handle == nullptr) return Tensor();
    if (HandleTable::instance().find(handle, HandleType::kTensor) == nullptr) {
      fail(Code::kInvalidHandle, "", "%s left %s, expected a tensor", what,
           name_with_article(HandleTable::instance().type_of(handle)));
    }
    return unwrap(handle, "");
  }

 private:
  std::vector<htone_tensor*> handles_;
};

}  // namespace halftone::capi
