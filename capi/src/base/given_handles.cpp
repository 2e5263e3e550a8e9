#include "base/given_handles.h"

#include <algorithm>

#include "base/handles.h"

namespace halftone::capi {

namespace {

bool is_alive(void* handle) noexcept { return HandleTable::instance().type_of(handle) != HandleType::kNone; }

}  // namespace

GivenHandles::~GivenHandles() {
  // A scope whose thread has ended is ended by another one, which has a list of its own.
  if (innermost_ == this) innermost_ = outer_;
  while (!handles_.empty()) {
    void* const last = handles_.back();
    handles_.pop_back();
    drop_(last);
  }
}

void GivenHandles::reserve(size_t count) {
  if (handles_.size() + count <= handles_.capacity()) return;
  // A long loop in one scope, whose handles are released by hand, must not make the list longer and longer.
  std::erase_if(handles_, [](void* handle) { return !is_alive(handle); });
  if ((handles_.size() + count) * 2 > handles_.capacity()) handles_.reserve((handles_.size() + count) * 2 + 16);
}

void GivenHandles::keep(void* handle) {
  const auto found = std::find(handles_.rbegin(), handles_.rend(), handle);
  if (found == handles_.rend()) return;
  if (outer_ != nullptr) {
    outer_->reserve(1);
    outer_->note(handle);
  }
  handles_.erase(std::next(found).base());
}

}  // namespace halftone::capi
