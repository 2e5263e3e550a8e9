// A list of a fixed length whose elements lie in the object itself if they are few, so that most lists need no
// allocation. Used by one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace halftone {

template <class T, size_t kInline>
class InlineList {
 public:
  InlineList() = default;
  explicit InlineList(size_t size) : size_(size) {
    if (size > kInline) more_ = std::make_unique<T[]>(size);
  }

  size_t size() const noexcept { return size_; }
  T& operator[](size_t i) noexcept { return begin()[i]; }
  const T& operator[](size_t i) const noexcept { return begin()[i]; }
  T* begin() noexcept { return more_ != nullptr ? more_.get() : own_.data(); }
  T* end() noexcept { return begin() + size_; }
  const T* begin() const noexcept { return more_ != nullptr ? more_.get() : own_.data(); }
  const T* end() const noexcept { return begin() + size_; }

 private:
  size_t size_ = 0;
  std::array<T, kInline> own_ = {};
  std::unique_ptr<T[]> more_;  // all elements, if there are more than kInline
};

}  // namespace halftone
