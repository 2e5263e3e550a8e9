// The C++ types of the generated functions (bindings/generator): arrays, memory, and results whose length the library
// tells. Each language's interface files convert them. Included only by the generated wrappers.
#ifndef HALFTONE_BINDINGS_SHIM_H
#define HALFTONE_BINDINGS_SHIM_H

#include <stdio.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "halftone/dtype.h"
#include "status.h"

namespace ht {

using halftone_bindings::check;
using Integers = std::vector<int64_t>;
using Texts = std::vector<std::string>;

// The caller's memory, borrowed for one call.
struct Memory {
  const void* data = nullptr;
  size_t size = 0;
};

struct WritableMemory {
  void* data = nullptr;
  size_t size = 0;
};

// A result of bytes.
struct Bytes {
  std::string content;
};

// Reports a wrong argument that the library cannot see.
[[noreturn]] inline void refuse(const char* function, const std::string& reason) {
  halftone_bindings::StatusError error{};
  error.info.struct_size = sizeof(error.info);
  error.info.status = HTONE_ERROR_INVALID_ARGUMENT;
  error.info.argument_index = -1;
  snprintf(error.info.message, sizeof error.info.message, "%s: %s", function, reason.c_str());
  throw error;
}

// The library knows an empty array by its length; it takes NULL where an array is optional.
template <class Element>
const Element* data_of(const std::vector<Element>& elements) {
  return elements.empty() ? nullptr : elements.data();
}

// Numbers of 32 bits in C.
inline std::vector<int32_t> narrowed(const char* function, const char* name, const Integers& numbers) {
  for (int64_t number : numbers) {
    if (number != int32_t(number)) {
      refuse(function, std::string(name) + " has " + std::to_string(number) + ", which has more than 32 bits");
    }
  }
  return std::vector<int32_t>(numbers.begin(), numbers.end());
}

// An array in a structure of C. Entries that are left out stay as they are.
template <class Element, size_t count>
void copy_entries(const char* name, const Integers& from, Element (&to)[count]) {
  if (from.size() > count) {
    refuse(name, std::to_string(from.size()) + " entries, expected at most " + std::to_string(count));
  }
  for (size_t i = 0; i < from.size(); ++i) to[i] = Element(from[i]);
}

inline std::vector<const char*> pointers_of(const Texts& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

// Arrays that share a length in C have lengths of their own in a language.
inline void same_length(const char* function, const char* name, size_t size, size_t expected, size_t factor,
                        bool is_optional) {
  if (size == expected * factor || (is_optional && size == 0)) return;
  refuse(function, std::string(name) + " has " + std::to_string(size) + " entries, expected " +
                       std::to_string(expected * factor));
}

// The library reads as many bytes as the shape implies, so the memory must have them.
template <class Dtype>
void require_elements(const char* function, const Memory& memory, Dtype dtype, const Integers& shape) {
  size_t expected = 0;
  check(htone_dtype_size(htone_dtype(dtype), &expected));
  for (int64_t size : shape) {
    if (size < 0) return;  // the library refuses it
    if (__builtin_mul_overflow(expected, size_t(size), &expected)) return;
  }
  if (memory.size != expected) {
    refuse(function, "data has " + std::to_string(memory.size) + " bytes, expected " + std::to_string(expected));
  }
}

// Runs a call that writes up to `capacity` entries and their number; repeats it if the buffer was too small. One entry
// more is allocated for the end of a text.
template <class Length, class Container, class Element, class Call>
Container read_entries(Container entries, Call& call) {
  Length length = 0;
  htone_status status = HTONE_ERROR_BUFFER_TOO_SMALL;
  for (size_t size = 64; status == HTONE_ERROR_BUFFER_TOO_SMALL; size = size_t(length) + 1) {
    entries.resize(size);
    status = call(static_cast<Element*>(entries.data()), Length(size), &length);
  }
  check(status);
  entries.resize(size_t(length));
  return entries;
}

template <class Length, class Call>
std::string read_text(Call call) {
  return read_entries<Length, std::string, char>(std::string(), call);
}

template <class Length, class Call>
Integers read_integers(Call call) {
  return read_entries<Length, Integers, int64_t>(Integers(), call);
}

template <class Length, class Call>
Bytes read_bytes(Call call) {
  return {read_entries<Length, std::string, void>(std::string(), call)};
}

}  // namespace ht

#endif
