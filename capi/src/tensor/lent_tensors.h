// Handles of tensors that go in and out of a callback, and those that a call returns together.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/error.h"
#include "tensor/handles.h"

namespace halftone::capi {

// Handles that are lent to a callback, or memory where it leaves some. Both are released at the end.
class TensorHandles {
 public:
  explicit TensorHandles(size_t count) : handles_(count) {}
  // NULL for undefined ones.
  explicit TensorHandles(std::span<const Tensor> tensors) : TensorHandles(tensors.size()) {
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
  // Moves the handles to a caller, or the caller's innermost scope of handles, that owns them from now on.
  void hand_over(htone_tensor** out) {
    if (GivenHandles* const scope = GivenHandles::innermost()) {
      scope->reserve(handles_.size());
      for (htone_tensor* handle : handles_) {
        if (handle != nullptr) scope->note(handle);
      }
    }
    std::copy(handles_.begin(), handles_.end(), out);
    handles_.clear();
  }
  // Returns the tensor that the callback left, undefined for NULL. Throws INVALID_HANDLE; `what` names the callback.
  Tensor left(size_t i, const char* what) const {
    htone_tensor* handle = handles_[i];
    if (handle == nullptr) return Tensor();
    if (HandleTable::instance().find(handle, HandleType::kTensor) == nullptr) {
      fail(Code::kInvalidHandle, "", "%s left %s, expected a tensor", what,
           name_with_article(HandleTable::instance().type_of(handle)));
    }
    return hold(handle, "").reference();
  }

 private:
  std::vector<htone_tensor*> handles_;
};

}  // namespace halftone::capi
