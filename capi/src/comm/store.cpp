#include "halftone/store.h"

#include <algorithm>
#include <cmath>

#include "base/call.h"
#include "base/file_arguments.h"
#include "comm/callback_store.h"
#include "comm/group/registry.h"
#include "comm/group/shared_store.h"
#include "comm/handles.h"
#include "comm/seconds.h"
#include "runtime/handles.h"
#include "scope/callback.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

constexpr size_t kMaxValue = size_t{1} << 20;

Ref<SharedStore> open_store(const Context& context, const char* kind, const StoreOptions& options) {
  return make_ref<SharedStore>(create_store(kind, context, options));
}

Ref<SharedStore> open_memory_store(const Context& context) { return open_store(context, "memory", {}); }

Ref<SharedStore> open_file_store(const Context& context, const char* path) {
  return about("path", [&] { return open_store(context, "file", {.address = path}); });
}

// The server's address is parsed where it is opened; here it only matters whether strangers can reach it.
bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("localhost:") || address.starts_with("[::1]:");
}

Ref<SharedStore> open_tcp_store(const Context& context, const char* address, const char* secret,
                                const htone_tcp_store_options& options) {
  if (secret == nullptr && !is_loopback(address)) {
    fail(Code::kInvalidArgument, "secret", "secret is NULL, which only a store on the loopback may have, not \"%.64s\"",
         address);
  }
  const std::string_view text = secret != nullptr ? secret : "";
  return open_store(context, "tcp",
                    {.address = address,
                     .is_server = options.is_server != 0 ? 1 : 0,
                     .secret = {text.data(), text.size()},
                     .timeout_ns = timeout_nanoseconds(options.timeout_seconds, "timeout_seconds")});
}

void set_value(const SharedStore& store, const char* key, StoreValue value) { check(store.store().set(key, value)); }

StoreValue checked_value(const void* data, size_t size, ArgumentName name) {
  if (size > 0) require_memory(data, name);
  if (size > kMaxValue) fail(Code::kInvalidArgument, "size", "size=%zu, expected at most %zu", size, kMaxValue);
  return {.data = data != nullptr ? data : "", .bytes = size};
}

int64_t add_amount(const SharedStore& store, const char* key, int64_t amount) {
  int64_t sum = 0;
  check(store.store().add(key, amount, &sum));
  return sum;
}

int32_t remove_key(const SharedStore& store, const char* key) {
  int32_t existed = 0;
  check(store.store().remove(key, &existed));
  return existed;
}

void require_function(const char* field, bool is_there) {
  if (!is_there) fail(Code::kInvalidArgument, "functions", "functions.%s is NULL", field);
}

}  // namespace

htone_status htone_store_create_memory(htone_context* context, htone_store** out) {
  return Call(open_memory_store, context, out);
}

htone_status htone_store_create_file(htone_context* context, const char* path, htone_store** out) {
  return Call(open_file_store, context, as<file_path>(path), out);
}

htone_status htone_store_create_tcp(htone_context* context, const char* address, const char* secret,
                                    const htone_tcp_store_options* options, htone_store** out) {
  return guard([&] {
    const auto owner = hold(context, "context");
    require_memory(address, "address");
    const auto given = options_or_default<htone_tcp_store_options>(options, HTONE_TCP_STORE_OPTIONS_INIT);
    require_memory(out, "out");
    give_handle(out, open_tcp_store(*owner, address, secret, given));
  });
}

htone_status htone_store_create_callback(htone_context* context, const htone_store_functions* functions,
                                         void (*destroy)(void* user), htone_store** out) {
  return guard([&] {
    const auto owner = hold(context, "context");
    htone_store_functions given = HTONE_STORE_FUNCTIONS_INIT;
    copy_options(&given, sizeof given, &require(functions, "functions"), "functions");
    require_function("set", given.set != nullptr);
    require_function("get", given.get != nullptr);
    require_function("add", given.add != nullptr);
    require_function("compare_set", given.compare_set != nullptr);
    require_function("remove", given.remove != nullptr);
    require_memory(out, "out");
    CallbackStore* const store = new CallbackStore(given);
    give_handle(out, make_ref<SharedStore>(OwnedStore(store)));
    // Last: if the handle cannot be made, the user data stay the caller's.
    store->set_destroy(destroy);
  });
}

htone_status htone_store_set(htone_store* store, const char* key, const void* data, size_t size) {
  return Call(set_value, store, as<checked_name>(key), as<checked_value>(data, size));
}

htone_status htone_store_get(htone_store* store, const char* key, double timeout_seconds, void* out, size_t capacity,
                             size_t* out_size) {
  return guard([&] {
    const auto entries = hold(store, "store");
    checked_name(key, "key");
    const int64_t timeout = wait_nanoseconds(timeout_seconds, "timeout_seconds");
    if (capacity > 0) require_memory(out, "out");
    require_memory(out_size, "out_size");
    check(entries->store().get(key, timeout, out, capacity, out_size));
  });
}

htone_status htone_store_add(htone_store* store, const char* key, int64_t amount, int64_t* out_sum) {
  return Call(add_amount, store, as<checked_name>(key), amount, out_sum);
}

htone_status htone_store_remove(htone_store* store, const char* key, int32_t* out_existed) {
  return Call(remove_key, store, as<checked_name>(key), out_existed);
}
