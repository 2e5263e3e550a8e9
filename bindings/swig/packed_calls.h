// The arguments of a function of Java or C# as bytes, in the form of packed.h. Both languages read them by an object of
// one running call, which also gives the results back (managed.i).
#ifndef HALFTONE_BINDINGS_PACKED_CALLS_H
#define HALFTONE_BINDINGS_PACKED_CALLS_H

#include "callbacks.h"
#include "packed.h"

namespace ht {

inline int64_t number_of(const void* address) { return int64_t(reinterpret_cast<intptr_t>(address)); }

// A handle is its number: the language takes a reference of its own.
struct ArgumentPacker {
  Packer pack;

  void operator()(int64_t number) const { pack(number); }
  void operator()(double number) const { pack(number); }
  void operator()(const char* text) const { pack(std::string(text)); }
  void operator()(const Integers& integers) const { pack(integers); }
  void operator()(const Memory& memory) const {
    pack(memory.data == nullptr);
    pack(memory.data == nullptr ? std::string() : std::string(static_cast<const char*>(memory.data), memory.size));
  }
  template <class Handle>
  void operator()(Handle* handle) const {
    pack(number_of(handle));
  }
  void operator()(const BorrowedTensors& tensors) const {
    Integers handles;
    for (const htone_tensor* tensor : tensors) handles.push_back(number_of(tensor));
    pack(handles);
  }
  void operator()(const std::vector<WritableMemory>& rows) const {
    Integers places;
    for (const WritableMemory& row : rows) {
      places.push_back(number_of(row.data));
      places.push_back(int64_t(row.size));
    }
    pack(places);
  }
};

// Two flags of the result, and the arguments.
inline std::string pack_call(const std::vector<Argument>& arguments, const Result& result) {
  std::string packed;
  const ArgumentPacker packer{Packer(packed)};
  packer(int64_t(result.has_caller));
  packer(int64_t(result.may_time_out));
  for (const Argument& argument : arguments) std::visit(packer, argument);
  return packed;
}

// The result of a failed call is not used.
inline void release_references(Result* result) {
  for (htone_tensor* tensor : result->references) (void)!htone_tensor_release(tensor);
  result->references.clear();
}

inline void give_tensors(Result* result, const std::vector<htone_tensor*>& tensors) {
  if (tensors.size() > result->tensor_count) {
    refuse("callback", "the function returned " + std::to_string(tensors.size()) + " tensors, expected " +
                           std::to_string(result->tensor_count));
  }
  for (htone_tensor* tensor : tensors) {
    if (tensor != nullptr) check(htone_tensor_retain(tensor));
    result->references.push_back(tensor);
  }
}

}  // namespace ht

#endif
