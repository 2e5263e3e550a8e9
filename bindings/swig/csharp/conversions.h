// C#'s arrays as the C++ types of shim.h, and the reverse. An array from C# begins with its length; null is an empty
// one. A result is in memory of this thread, which the next call overwrites: C# copies it at once.
#ifndef HALFTONE_BINDINGS_CSHARP_CONVERSIONS_H
#define HALFTONE_BINDINGS_CSHARP_CONVERSIONS_H

#include <string.h>

#include "packed.h"
#include "returned_tensors.h"

namespace ht {

using Address = void*;
using ReleaseFunction = void (*)(void*);

inline Integers to_integers(const int64_t* array) {
  return array == nullptr ? Integers() : Integers(array + 1, array + 1 + array[0]);
}

template <class Handles>
Handles to_handles(const int64_t* array) {
  Handles handles;
  for (int64_t handle : to_integers(array)) {
    handles.push_back(reinterpret_cast<typename Handles::value_type>(intptr_t(handle)));
  }
  return handles;
}

inline Memory to_memory(const char* bytes) {
  if (bytes == nullptr) return {};
  int64_t length = 0;
  memcpy(&length, bytes, sizeof length);
  return {bytes + sizeof length, size_t(length)};
}

inline Texts to_texts(const char* packed) {
  if (packed == nullptr) return {};
  Unpacker unpack{{packed, 0}};
  int64_t count = 0;
  unpack(count);
  Texts texts(static_cast<size_t>(count));
  for (std::string& text : texts) unpack(text);
  return texts;
}

// Returns a copy that begins with its length.
inline const void* kept(const void* data, size_t count, size_t element_size) {
  static thread_local std::string memory;
  const int64_t length = int64_t(count);
  memory.assign(reinterpret_cast<const char*>(&length), sizeof length);
  if (count > 0) memory.append(static_cast<const char*>(data), count * element_size);
  return memory.data();
}

inline const void* from_text(const std::string& text) { return kept(text.data(), text.size(), 1); }

inline const void* from_integers(const Integers& integers) {
  return kept(integers.data(), integers.size(), sizeof(int64_t));
}

template <class Handles>
const void* from_handles(const Handles& handles) {
  return kept(handles.data(), handles.size(), sizeof(void*));
}

inline void* from_tensor(htone_tensor* tensor) {
  count_returned(tensor);
  return tensor;
}

inline const void* from_handles(const std::vector<htone_tensor*>& tensors) {
  for (htone_tensor* tensor : tensors) count_returned(tensor);
  return kept(tensors.data(), tensors.size(), sizeof(void*));
}

}  // namespace ht

#endif
