#include "base/given_handles.h"

#include <algorithm>

#include "base/handles.h"

namespace halftone::capi {

namespace {

bool is_alive(void* handle) noexcept { return HandleTable::instance().type_of(handle) != HandleType::kNone; }

}  // namespace

GivenHandles::~GivenHandles() {
  // A scope whose thread has ended is ended by another one, which has a list of its own.
  if (innermost() == this) thread().given_handles = outer_;
  while (!handles_.empty()) {
    void* const last = handles_.back();
    handles_.pop_back();
    if (last != nullptr) HandleTable::instance().drop(last);
  }
}

void GivenHandles::reserve(size_t count) {
  if (handles_.size() + count <= handles_.capacity()) return;
  // A long loop in one scope, whose handles are released by hand, must not make the list longer and longer.
  std::erase_if(handles_, [](void* handle) { return !is_alive(handle); });
  places_.clear();
  indexed_ = 0;
  if ((handles_.size() + count) * 2 > handles_.capacity()) handles_.reserve((handles_.size() + count) * 2 + 16);
}

size_t GivenHandles::find(void* handle) {
  constexpr size_t kLongestSearch = 64;
  const size_t size = handles_.size();
  const size_t end = std::max(indexed_, size - std::min(size, kLongestSearch));
  for (size_t i = size; i > end; --i) {
    if (handles_[i - 1] == handle) return i - 1;
  }
  for (; indexed_ < end; ++indexed_) places_.emplace(handles_[indexed_], indexed_);
  const auto found = places_.find(handle);
  return found == places_.end() ? size : found->second;
}

void GivenHandles::keep(void* handle) {
  const size_t place = find(handle);
  if (place == handles_.size()) return;
  if (outer_ != nullptr) {
    outer_->reserve(1);
    outer_->note(handle);
  }
  handles_[place] = nullptr;
  while (!handles_.empty() && handles_.back() == nullptr) handles_.pop_back();
  if (place < indexed_) places_.erase(handle);
  indexed_ = std::min(indexed_, handles_.size());
}

}  // namespace halftone::capi
