// A store that several objects own, such as groups. The program can interrupt its waits (core/interrupt.h): each is
// many short ones. That is done here, around every store, because some are in plugins, which have no part in the
// program's calls.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "comm/group/owned.h"
#include "core/interrupt.h"
#include "core/ref.h"

namespace halftone {

class InterruptibleStore final : public KeyValueStore {
 public:
  explicit InterruptibleStore(OwnedStore store) noexcept : store_(std::move(store)) {}
  // Its owner destroys it.
  void destroy() noexcept override {}

  Status set(const char* key, StoreValue value) noexcept override { return store_->set(key, value); }
  Status get(const char* key, int64_t timeout_ns, void* out, size_t capacity, size_t* out_bytes) noexcept override {
    return in_parts(timeout_ns, [&](int64_t ns) { return store_->get(key, ns, out, capacity, out_bytes); });
  }
  Status wait(const char* const* keys, int32_t count, int64_t timeout_ns) noexcept override {
    return in_parts(timeout_ns, [&](int64_t ns) { return store_->wait(keys, count, ns); });
  }
  Status add(const char* key, int64_t amount, int64_t* out_sum) noexcept override {
    return store_->add(key, amount, out_sum);
  }
  Status compare_set(const char* key, StoreValue expected, StoreValue desired, int32_t* out_swapped) noexcept override {
    return store_->compare_set(key, expected, desired, out_swapped);
  }
  Status reopen(int64_t timeout_ns, KeyValueStore** out) noexcept override { return store_->reopen(timeout_ns, out); }
  Status remove(const char* key, int32_t* out_existed) noexcept override { return store_->remove(key, out_existed); }

 private:
  // A silent network is no missing key: it has a native code, and is not asked again.
  template <class Wait>
  static Status in_parts(int64_t timeout_ns, Wait&& wait) noexcept {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    for (;;) {
      const int64_t passed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
      const int64_t left = std::max<int64_t>(timeout_ns - passed, 0);
      const int64_t part = may_be_interrupted() ? std::min(left, kInterruptLookNs) : left;
      const Status status = wait(part);
      if (part == left || status.code != Code::kTimeout || status.native_code == ETIMEDOUT) return status;
      if (Status interrupted = interruption(); !interrupted.ok()) return interrupted;
    }
  }

  const OwnedStore store_;
};

class SharedStore final : public RefCounted {
 public:
  explicit SharedStore(OwnedStore store) : store_(std::move(store)) {}
  KeyValueStore& store() const noexcept { return store_; }

 private:
  mutable InterruptibleStore store_;  // as a pointer to one
};

}  // namespace halftone
