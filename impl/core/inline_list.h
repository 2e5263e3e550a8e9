// A list of a fixed length whose elements lie in the object itself if they are few, so that most lists need no
// allocation. The memory of a longer list is of the object pool. Used by one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "core/object_pool.h"

namespace halftone {

template <class T, size_t kInline>
class InlineList {
 public:
  InlineList() = default;
  explicit InlineList(size_t size) : size_(size) {
    if (size > kInline) more_ = make_elements(size);
  }

  size_t size() const noexcept { return size_; }
  T& operator[](size_t i) noexcept { return begin()[i]; }
  const T& operator[](size_t i) const noexcept { return begin()[i]; }
  T* begin() noexcept { return more_ != nullptr ? more_.get() : own_.data(); }
  T* end() noexcept { return begin() + size_; }
  const T* begin() const noexcept { return more_ != nullptr ? more_.get() : own_.data(); }
  const T* end() const noexcept { return begin() + size_; }

 private:
  struct Release {
    size_t size = 0;
    void operator()(T* first) const noexcept {
      std::destroy_n(first, size);
      ObjectPool::release(first, size * sizeof(T));
    }
  };
  using Elements = std::unique_ptr<T[], Release>;

  static Elements make_elements(size_t size) {
    static_assert(std::is_nothrow_default_constructible_v<T>, "nothing is to be undone here");
    T* first = static_cast<T*>(ObjectPool::allocate(size * sizeof(T)));
    std::uninitialized_value_construct_n(first, size);
    return Elements(first, Release{size});
  }

  size_t size_ = 0;
  std::array<T, kInline> own_ = {};
  Elements more_;  // all elements, if there are more than kInline
};

}  // namespace halftone
