// A store that hands every call to another one. What a test wants to change, it overrides.
#pragma once

#include "comm/store.h"

namespace halftone {

class ForwardedStore : public KeyValueStore {
 public:
  explicit ForwardedStore(KeyValueStore& store) : store_(store) {}
  void destroy() noexcept override {}

  Status set(const char* key, StoreValue value) noexcept override { return store_.set(key, value); }
  Status get(const char* key, int64_t timeout_ns, void* out, size_t capacity, size_t* out_bytes) noexcept override {
    return store_.get(key, timeout_ns, out, capacity, out_bytes);
  }
  Status wait(const char* const* keys, int32_t count, int64_t timeout_ns) noexcept override {
    return store_.wait(keys, count, timeout_ns);
  }
  Status add(const char* key, int64_t amount, int64_t* out_sum) noexcept override {
    return store_.add(key, amount, out_sum);
  }
  Status compare_set(const char* key, StoreValue expected, StoreValue desired, int32_t* out_swapped) noexcept override {
    return store_.compare_set(key, expected, desired, out_swapped);
  }
  Status remove(const char* key, int32_t* out_existed) noexcept override { return store_.remove(key, out_existed); }

 protected:
  ~ForwardedStore() = default;

 private:
  KeyValueStore& store_;
};

}  // namespace halftone
