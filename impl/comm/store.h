// A key-value store in which ranks find each other. A pure interface of plain types, because a plugin may implement it.
// Safe from any thread; destroy() comes after every other call, and after the groups that were created over the store.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/status.h"

namespace halftone {

// Borrowed bytes. Null data means: the key is absent.
struct StoreValue {
  const void* data = nullptr;
  size_t bytes = 0;
};

// The place of a store of many processes.
struct StoreOptions {
  const char* address = nullptr;  // "address:port", or a path
  int32_t is_server = 0;          // this process holds the entries; for stores over a network
  int32_t reserved = 0;
  StoreValue secret = {};  // both sides prove that they know it, and do not send it
  int64_t timeout_ns = 0;  // to connect
};

class KeyValueStore {
 public:
  virtual void destroy() noexcept = 0;

  virtual Status set(const char* key, StoreValue value) noexcept = 0;
  // Waits at most `timeout_ns` for the key, then copies its value. `out_bytes` receives the value's size. Returns
  // TIMEOUT with the key, and BUFFER_TOO_SMALL, without a copy, if `capacity` is less than the size.
  virtual Status get(const char* key, int64_t timeout_ns, void* out, size_t capacity, size_t* out_bytes) noexcept = 0;
  // Waits at most `timeout_ns` until every key exists. Returns TIMEOUT with the first missing key.
  virtual Status wait(const char* const* keys, int32_t count, int64_t timeout_ns) noexcept = 0;
  // Adds to a counter and returns the sum. An absent key counts as 0. The value is the number's decimal text; any other
  // value, or an overflow, is INVALID_ARGUMENT.
  virtual Status add(const char* key, int64_t amount, int64_t* out_sum) noexcept = 0;
  // Replaces the value if it equals `expected`. `out_swapped` receives 1 if it did, else 0.
  virtual Status compare_set(const char* key, StoreValue expected, StoreValue desired,
                             int32_t* out_swapped) noexcept = 0;
  // A further client of these entries, whose calls take no longer than `timeout_ns` where the network is silent; null
  // if calls of this store wait for no network. Destroyed before this store.
  virtual Status reopen(int64_t timeout_ns, KeyValueStore** out) noexcept {
    static_cast<void>(timeout_ns);
    *out = nullptr;
    return {};
  }
  // Removes the key. `out_existed` receives 1 if it existed, else 0.
  virtual Status remove(const char* key, int32_t* out_existed) noexcept = 0;

 protected:
  ~KeyValueStore() = default;
};

}  // namespace halftone
