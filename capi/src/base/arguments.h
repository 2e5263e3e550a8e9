// Checks of arguments of the C API: pointers, numbers, shapes and options. A wrong argument throws an Error that has
// the name of the parameter in the C header.
#pragma once

#include <cmath>
#include <cstring>
#include <string_view>

#include "base/argument_name.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/shape.h"
#include "halftone/dtype.h"

namespace halftone::capi {

[[noreturn]] void fail_null(ArgumentName argument);
// Throws INVALID_ARGUMENT for NULL.
inline void require_memory(const void* pointer, ArgumentName argument) {
  if (pointer == nullptr) [[unlikely]]
    fail_null(argument);
}
template <class T>
T& require(T* pointer, ArgumentName argument) {
  require_memory(pointer, argument);
  return *pointer;
}

Shape fixed_shape(int32_t ndim, const int64_t* shape);
// A shape that may hold -1: the operation checks its sizes.
Shape open_shape(int32_t ndim, const int64_t* shape);
// Dimensions to reduce; 0 of them are legal.
Shape dim_list(int32_t dim_count, const int64_t* dims);
DType checked_dtype(htone_dtype dtype, ArgumentName argument);
// A name goes into one-line messages and into a file's header: 1 to 4096 bytes of UTF-8 without control characters.
const char* checked_name(const char* name, ArgumentName argument);
double finite_number(double value, ArgumentName argument);
// In [0, 1].
double probability(double value, ArgumentName argument);
int64_t at_least(int64_t value, int64_t least, ArgumentName argument);
int64_t positive(int64_t value, ArgumentName argument);
void require_index(size_t index, size_t count);

// Copies a string with its end into the caller's buffer; BUFFER_TOO_SMALL names `capacity`.
void copy_text(std::string_view text, char* out, size_t capacity, size_t* out_length);
// Copies a list of sizes in the same way.
void copy_sizes(const Shape& sizes, int32_t capacity, int64_t* out, int32_t* out_ndim);

// The caller's options over the defaults: missing fields of an older caller keep their default, unknown bytes of a
// newer one must be zero.
void copy_options(void* defaults, size_t size, const void* options, ArgumentName argument);
template <class Options>
Options options_or_default(const Options* options, Options defaults, ArgumentName argument = "options") {
  if (options != nullptr) copy_options(&defaults, sizeof defaults, options, argument);
  return defaults;
}

// Writes a result structure: as many bytes as the caller's struct_size knows. `text` is where a text at its end begins,
// so that one cut short still has an end.
template <class Structure>
void copy_structure(Structure result, Structure* out, size_t text) {
  const uint32_t size = out->struct_size;
  result.struct_size = size;
  if (size > text && size < sizeof result) reinterpret_cast<char*>(&result)[size - 1] = '\0';
  std::memcpy(out, &result, size < sizeof result ? size : sizeof result);
}

}  // namespace halftone::capi
