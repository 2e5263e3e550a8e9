// A handle that lives as long as a callback.
#pragma once

#include <utility>

#include "base/objects.h"

namespace halftone::capi {

template <IsHandle Handle>
class LentHandle {
 public:
  explicit LentHandle(ObjectOf<Handle> object) { wrap(&handle_, std::move(object)); }
  ~LentHandle() { drop_handle(handle_); }
  LentHandle(const LentHandle&) = delete;
  LentHandle& operator=(const LentHandle&) = delete;

  Handle* get() const noexcept { return handle_; }

 private:
  Handle* handle_ = nullptr;
};

}  // namespace halftone::capi
