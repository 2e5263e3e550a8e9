// Structures as bytes, for Java and C#: the fields in order, each in eight bytes of native order; a text or an array is
// its length and its bytes. Included only by the generated wrappers.
#ifndef HALFTONE_BINDINGS_PACKED_H
#define HALFTONE_BINDINGS_PACKED_H

#include <string.h>

#include "shim.h"

namespace ht {

// A structure from the caller, borrowed for one call; absent if the caller gave none.
struct Packed {
  const char* data = nullptr;
  size_t size = 0;
  bool is_absent() const { return data == nullptr; }
};

class Packer {
 public:
  explicit Packer(std::string& to) : to_(to) {}
  void operator()(double value) const { append(&value, sizeof value); }
  void operator()(const std::string& text) const {
    (*this)(text.size());
    append(text.data(), text.size());
  }
  void operator()(const Integers& integers) const {
    (*this)(integers.size());
    append(integers.data(), integers.size() * sizeof(int64_t));
  }
  // Integers, booleans, enumerations and handles.
  template <class Value>
  void operator()(Value value) const {
    int64_t integer = 0;
    if constexpr (std::is_pointer_v<Value>) {
      integer = int64_t(reinterpret_cast<intptr_t>(value));
    } else {
      integer = int64_t(value);
    }
    append(&integer, sizeof integer);
  }

 private:
  void append(const void* bytes, size_t size) const { to_.append(static_cast<const char*>(bytes), size); }

  std::string& to_;
};

class Unpacker {
 public:
  explicit Unpacker(const Packed& from) : at_(from.data) {}
  void operator()(double& value) { take(&value, sizeof value); }
  void operator()(std::string& text) {
    text.resize(size_t(integer()));
    take(text.data(), text.size());
  }
  void operator()(Integers& integers) {
    integers.resize(size_t(integer()));
    take(integers.data(), integers.size() * sizeof(int64_t));
  }
  template <class Value>
  void operator()(Value& value) {
    if constexpr (std::is_pointer_v<Value>) {
      value = reinterpret_cast<Value>(intptr_t(integer()));
    } else {
      value = Value(integer());
    }
  }

 private:
  int64_t integer() {
    int64_t value = 0;
    take(&value, sizeof value);
    return value;
  }
  void take(void* bytes, size_t size) {
    memcpy(bytes, at_, size);
    at_ += size;
  }

  const char* at_;
};

template <class Structure>
Bytes pack(Structure structure) {
  Bytes packed;
  each_field(structure, Packer(packed.content));
  return packed;
}

template <class Structure>
Structure unpack(const Packed& packed) {
  Structure structure;
  if (!packed.is_absent()) each_field(structure, Unpacker(packed));
  return structure;
}

}  // namespace ht

#endif
