// A store of the embedding program. The library's threads call it as well.
#pragma once

#include "comm/store.h"
#include "core/foreign_function.h"
#include "halftone/store.h"

namespace halftone::capi {

class CallbackStore final : public KeyValueStore {
 public:
  explicit CallbackStore(const htone_store_functions& functions) : functions_(functions) {}
  // Comes last: until the C function succeeds, `user` is its caller's.
  void set_destroy(void (*destroy)(void*)) noexcept { destroy_ = destroy; }

  void destroy() noexcept override;
  Status set(const char* key, StoreValue value) noexcept override;
  Status get(const char* key, int64_t timeout_ns, void* out, size_t capacity, size_t* out_bytes) noexcept override;
  Status wait(const char* const* keys, int32_t count, int64_t timeout_ns) noexcept override;
  Status add(const char* key, int64_t amount, int64_t* out_sum) noexcept override;
  Status compare_set(const char* key, StoreValue expected, StoreValue desired, int32_t* out_swapped) noexcept override;
  Status remove(const char* key, int32_t* out_existed) noexcept override;

 private:
  ~CallbackStore() = default;

  const htone_store_functions functions_;
  ForeignFunction<void(void* user)> destroy_;
};

}  // namespace halftone::capi
