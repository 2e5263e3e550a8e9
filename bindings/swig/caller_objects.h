// Batches and stores of the embedding program, whose functions do not come alone as those of callbacks.h do: batches
// need the size of their rows, and a store is a table of functions. All languages share them.
#ifndef HALFTONE_BINDINGS_CALLER_OBJECTS_H
#define HALFTONE_BINDINGS_CALLER_OBJECTS_H

#include <cstring>
#include <numeric>

#include "callbacks.h"
#include "halftone/dataset.h"
#include "halftone/store.h"

namespace ht {

// load(indices, rows) fills the memory of a batch's rows, an array for each tensor.
struct BatchLoader {
  Callback load;
  std::vector<size_t> row_bytes;

  static htone_status fill(size_t index_count, const int64_t* indices, void* const* out_rows, void* user) {
    const auto* loader = static_cast<const BatchLoader*>(user);
    std::vector<WritableMemory> rows;
    for (size_t i = 0; i < loader->row_bytes.size(); ++i) {
      rows.push_back({out_rows[i], index_count * loader->row_bytes[i]});
    }
    Result result;
    return loader->load->call({Integers(indices, indices + index_count), std::move(rows)}, &result);
  }

  static void destroy(void* user) { delete static_cast<BatchLoader*>(user); }
};

inline htone_row_type row_type(const Integers& row, BatchLoader* loader) {
  htone_row_type type{};
  size_t bytes = 0;
  if (row.empty() || row.size() > 8) refuse("htone_batches_create_callback", "a row has a dtype and up to 7 sizes");
  type.dtype = htone_dtype(row[0]);
  type.ndim = int32_t(row.size()) - 1;
  std::copy(row.begin() + 1, row.end(), type.shape);
  check(htone_dtype_size(type.dtype, &bytes));
  loader->row_bytes.push_back(std::accumulate(row.begin() + 1, row.end(), bytes, std::multiplies<size_t>()));
  return type;
}

// Each row is its dtype, followed by its shape.
inline htone_batches* make_batches(htone_device* device, htone_sampler* sampler, const std::vector<Integers>& rows,
                                   Callback& load) {
  auto loader = std::make_unique<BatchLoader>();
  std::vector<htone_row_type> types;
  htone_batches* out = nullptr;
  for (const Integers& row : rows) types.push_back(row_type(row, loader.get()));
  const htone_load_fn fill = load ? BatchLoader::fill : nullptr;
  loader->load = std::move(load);
  check(htone_batches_create_callback(device, sampler, types.size(), data_of(types), fill, loader.get(),
                                      BatchLoader::destroy, &out));
  loader.release();  // NOLINT: the batches own it now
  return out;
}

// The functions of a store, by the names of htone_store_functions.
struct StoreObject {
  Callback set_value, get_value, add_amount, compare_values, remove_key;

  static const StoreObject& of(void* user) { return *static_cast<const StoreObject*>(user); }

  static htone_status set(void* user, const char* key, const void* data, size_t size) {
    Result result;
    return of(user).set_value->call({key, Memory{size == 0 ? "" : data, size}}, &result);
  }

  static htone_status get(void* user, const char* key, double timeout_seconds, void* out, size_t capacity,
                          size_t* out_size) {
    Result result;
    result.kind = Result::Kind::kBytes;
    result.may_time_out = true;
    const htone_status status = of(user).get_value->call({key, timeout_seconds}, &result);
    if (status != HTONE_OK) return status;
    if (result.is_absent) return HTONE_ERROR_TIMEOUT;
    *out_size = result.bytes.size();
    if (capacity < result.bytes.size()) return HTONE_ERROR_BUFFER_TOO_SMALL;
    if (!result.bytes.empty()) memcpy(out, result.bytes.data(), result.bytes.size());
    return HTONE_OK;
  }

  static htone_status add(void* user, const char* key, int64_t amount, int64_t* out_sum) {
    return integer(of(user).add_amount, {key, amount}, out_sum);
  }

  static htone_status compare_set(void* user, const char* key, const void* expected, size_t expected_size,
                                  const void* desired, size_t desired_size, int32_t* out_swapped) {
    return integer(of(user).compare_values, {key, Memory{expected, expected_size}, Memory{desired, desired_size}},
                   out_swapped);
  }

  static htone_status remove(void* user, const char* key, int32_t* out_existed) {
    return integer(of(user).remove_key, {key}, out_existed);
  }

  static void destroy(void* user) { delete static_cast<StoreObject*>(user); }

 private:
  template <class Integer>
  static htone_status integer(const Callback& function, const std::vector<Argument>& arguments, Integer* out) {
    Result result;
    result.kind = Result::Kind::kInteger;
    const htone_status status = function->call(arguments, &result);
    if (status == HTONE_OK) *out = Integer(result.integer);
    return status;
  }
};

inline htone_store* make_store(htone_context* context, std::unique_ptr<StoreObject> object) {
  htone_store_functions functions = HTONE_STORE_FUNCTIONS_INIT;
  htone_store* out = nullptr;
  functions.user = object.get();
  functions.set = StoreObject::set;
  functions.get = StoreObject::get;
  functions.add = StoreObject::add;
  functions.compare_set = StoreObject::compare_set;
  functions.remove = StoreObject::remove;
  check(htone_store_create_callback(context, &functions, StoreObject::destroy, &out));
  object.release();  // NOLINT: the store owns it now
  return out;
}

}  // namespace ht

#endif
