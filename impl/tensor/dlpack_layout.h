// The structures of the DLPack standard, version 1.1, with the layout of its specification. The public header only
// declares the two managed ones, so that a program can include the standard's own header as well.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftone::dlpack {

enum DeviceType : int32_t { kCpu = 1 };

enum TypeCode : uint8_t {
  kInt = 0,
  kUint = 1,
  kFloat = 2,
  kBfloat = 4,
  kBool = 6,
  kFloat8E4m3fn = 10,
  kFloat8E5m2 = 12
};

enum Flag : uint64_t { kReadOnly = 1, kIsCopied = 2, kSubbytePadded = 4 };

struct Device {
  int32_t type;
  int32_t index;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

// The first element is byte_offset bytes behind data. Strides count elements; null strides mean row-major order.
struct Array {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

inline constexpr Version kVersion = {.major = 1, .minor = 1};

}  // namespace halftone::dlpack

struct DLManagedTensor {
  halftone::dlpack::Array array;
  void* owner;
  void (*deleter)(DLManagedTensor* self);
};

// Versions with the same major number have this layout. All versions have the same layout up to `flags`.
struct DLManagedTensorVersioned {
  halftone::dlpack::Version version;
  void* owner;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  halftone::dlpack::Array array;
};

static_assert(sizeof(void*) == 8, "the offsets below are those of 64-bit addresses");
static_assert(sizeof(halftone::dlpack::DataType) == 4 && offsetof(halftone::dlpack::DataType, lanes) == 2);
static_assert(offsetof(halftone::dlpack::Array, device) == 8 && offsetof(halftone::dlpack::Array, ndim) == 16);
static_assert(offsetof(halftone::dlpack::Array, dtype) == 20 && offsetof(halftone::dlpack::Array, shape) == 24);
static_assert(offsetof(halftone::dlpack::Array, strides) == 32 && offsetof(halftone::dlpack::Array, byte_offset) == 40);
static_assert(sizeof(halftone::dlpack::Array) == 48 && sizeof(DLManagedTensor) == 64);
static_assert(offsetof(DLManagedTensor, owner) == 48 && offsetof(DLManagedTensor, deleter) == 56);
static_assert(offsetof(DLManagedTensorVersioned, owner) == 8 && offsetof(DLManagedTensorVersioned, deleter) == 16);
static_assert(offsetof(DLManagedTensorVersioned, flags) == 24 && offsetof(DLManagedTensorVersioned, array) == 32);
static_assert(sizeof(DLManagedTensorVersioned) == 80);
