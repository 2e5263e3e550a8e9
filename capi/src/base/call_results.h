// The results of Call and Pure: where the operation's value goes. `require` runs before the operation, so that a call
// without a place for its result changes nothing.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "base/arguments.h"
#include "base/objects.h"

namespace halftone::capi {

// A handle, a number or a structure of options.
template <class T>
struct PlainResult {
  T* out;

  void require(ArgumentName name) const { require_memory(out, name); }
  template <class Value>
  void give(Value&& value) const {
    if constexpr (requires { give_handle(out, std::forward<Value>(value)); }) {
      give_handle(out, std::forward<Value>(value));
    } else {
      *out = static_cast<T>(value);
    }
  }
};

struct TextResult {
  static constexpr int kParameters = 3;
  char* out;
  size_t capacity;
  size_t* out_length;

  void require(ArgumentName name) const {
    require_memory(out, name);
    require_memory(out_length, "out_length");
  }
  void give(std::string_view text) const { copy_text(text, out, capacity, out_length); }
};
inline TextResult text(char* out, size_t capacity, size_t* out_length) { return {out, capacity, out_length}; }

struct SizesResult {
  static constexpr int kParameters = 3;
  int64_t* out;
  int32_t capacity;
  int32_t* out_ndim;

  void require(ArgumentName name) const {
    if (capacity < 0) fail(Code::kInvalidArgument, "capacity", "capacity=%d is negative", capacity);
    if (capacity > 0) require_memory(out, name);
    require_memory(out_ndim, "out_ndim");
  }
  void give(const Shape& sizes) const { copy_sizes(sizes, capacity, out, out_ndim); }
};
inline SizesResult sizes(int64_t* out, int32_t capacity, int32_t* out_ndim) { return {out, capacity, out_ndim}; }

// A structure that begins with struct_size: as many bytes as the caller's struct_size knows. `text` is where a text at
// its end begins, so that one cut short still has an end.
template <class Structure>
struct StructureResult {
  Structure* out;
  size_t text;

  void require(ArgumentName name) const {
    const uint32_t size = capi::require(out, name).struct_size;
    // Less has no room for a result, and no structure is as large as the upper bound.
    if (size >= 16 && size <= 4096) return;
    fail(Code::kInvalidArgument, name.text(), "%s.struct_size=%u, expected sizeof of the structure", name.text(), size);
  }
  void give(const Structure& value) const { copy_structure(value, out, text); }
};
template <class Structure>
StructureResult<Structure> structure(Structure* out, size_t text = sizeof(Structure)) {
  return {out, text};
}

template <class T>
concept IsOut = std::is_pointer_v<T> && !IsHandle<std::remove_pointer_t<T>> &&
                !std::is_const_v<std::remove_pointer_t<T>> && !std::is_function_v<std::remove_pointer_t<T>>;
template <class T>
concept IsResult = IsOut<T> || requires(const T& result, ArgumentName name) {
  result.require(name);
};

template <IsResult Argument>
auto result_of(const Argument& argument) {
  if constexpr (IsOut<Argument>) {
    return PlainResult<std::remove_pointer_t<Argument>>{argument};
  } else {
    return argument;
  }
}

}  // namespace halftone::capi
