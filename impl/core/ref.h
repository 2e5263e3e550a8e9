// Intrusive, atomic reference counting: one allocation an object, one word a reference.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "core/object_pool.h"

namespace halftone {

// Base of shared objects. `dispose` runs when the last reference goes; the default deletes the object. Its memory is of
// the object pool.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) const_cast<RefCounted*>(this)->dispose();
  }
  // Adds a reference unless the last one is gone. For a pointer to an object whose memory outlives its last reference.
  [[nodiscard]] bool retain_if_alive() const noexcept {
    uint32_t count = references_.load(std::memory_order_relaxed);
    while (count != 0 && !references_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) {
    }
    return count != 0;
  }
  uint32_t reference_count() const noexcept { return references_.load(std::memory_order_relaxed); }

  static void* operator new(size_t bytes) { return ObjectPool::allocate(bytes); }
  static void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return ObjectPool::try_allocate(bytes); }
  static void operator delete(void* memory, size_t bytes) noexcept { ObjectPool::release(memory, bytes); }

 protected:
  virtual ~RefCounted() = default;
  virtual void dispose() noexcept { delete this; }

 private:
  mutable std::atomic<uint32_t> references_{1};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  // Takes over the reference that a new object is born with, or shares one of an object that lives already.
  static Ref adopt(T* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref share(T* object) noexcept {
    if (object != nullptr) object->retain();
    return adopt(object);
  }

  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  Ref(Ref<U> other) noexcept : object_(other.detach()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.object_ == b.object_; }

  // Gives the reference away without counting it down.
  [[nodiscard]] T* detach() noexcept { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

template <class T, class... Arguments>
Ref<T> make_ref(Arguments&&... arguments) {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "the object pool aligns as operator new does");
  return Ref<T>::adopt(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace halftone
