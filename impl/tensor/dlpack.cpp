#include "tensor/dlpack.h"

#include <cinttypes>

#include "core/error.h"
#include "tensor/factory.h"

namespace halftone {

namespace {

struct TypePair {
  DType dtype;
  dlpack::TypeCode code;
};

// Only the type codes: the number of bits follows from size_of().
constexpr TypePair kTypes[] = {
    {DType::kF64, dlpack::kFloat},
    {DType::kF32, dlpack::kFloat},
    {DType::kF16, dlpack::kFloat},
    {DType::kBF16, dlpack::kBfloat},
    {DType::kF8E4M3, dlpack::kFloat8E4m3fn},
    {DType::kF8E5M2, dlpack::kFloat8E5m2},
    {DType::kI64, dlpack::kInt},
    {DType::kI32, dlpack::kInt},
    {DType::kI16, dlpack::kInt},
    {DType::kI8, dlpack::kInt},
    {DType::kU8, dlpack::kUint},
    {DType::kBool, dlpack::kBool},
};

DType checked_type(const dlpack::DataType& type) {
  if (type.lanes != 1) {
    fail(Code::kUnsupported, "managed", "managed has %d lanes an element, expected 1", type.lanes);
  }
  for (const TypePair& pair : kTypes) {
    if (pair.code == type.code && size_of(pair.dtype) * 8 == type.bits) return pair.dtype;
  }
  fail(Code::kUnsupported, "managed",
       "managed has elements of DLPack's type code %d with %d bits, which no dtype has; convert them first", type.code,
       type.bits);
}

dlpack::DataType type_of(DType dtype) {
  for (const TypePair& pair : kTypes) {
    if (pair.dtype == dtype) return {pair.code, static_cast<uint8_t>(size_of(dtype) * 8), 1};
  }
  fail(Code::kUnsupported, "tensor", "tensor is %s, which DLPack has no code for", name_of(dtype));
}

void require_cpu(ContextDevice& device, const dlpack::Device& lent) {
  if (device.device->kind() != DeviceKind::kCpu) {
    fail(Code::kDevice, "device", "device is %s; only memory of the cpu comes by DLPack", device.device->name());
  }
  if (lent.type != dlpack::kCpu) {
    fail(Code::kDevice, "managed", "managed is on DLPack's device type %d, expected %d, the cpu", lent.type,
         dlpack::kCpu);
  }
}

Shape shape_of(const dlpack::Array& array) {
  if (array.ndim < 0) fail(Code::kInvalidArgument, "managed", "managed has %d dimensions", array.ndim);
  if (array.ndim > kMaxRank) {
    fail(Code::kUnsupported, "managed", "managed has %d dimensions, expected at most %d", array.ndim, kMaxRank);
  }
  if (array.ndim > 0 && array.shape == nullptr) fail(Code::kInvalidArgument, "managed", "managed has a NULL shape");
  return checked_shape(array.shape, array.ndim, "managed");
}

// The address of the first element; null for an empty tensor, whose `data` may be anything.
void* first_element(const dlpack::Array& array, const Shape& shape, DType dtype) {
  if (numel(shape) == 0) return nullptr;
  if (array.data == nullptr) fail(Code::kInvalidArgument, "managed", "managed has elements and a NULL data");
  uintptr_t address = 0;
  if (array.byte_offset > PTRDIFF_MAX ||
      __builtin_add_overflow(reinterpret_cast<uintptr_t>(array.data), array.byte_offset, &address)) {
    fail(Code::kInvalidArgument, "managed", "managed has a byte_offset of %" PRIu64 ", beyond all memory",
         array.byte_offset);
  }
  if (address % size_of(dtype) != 0) {
    fail(Code::kInvalidArgument, "managed", "managed has its first element at %p, not aligned to the %zu bytes of %s",
         reinterpret_cast<void*>(address), size_of(dtype), name_of(dtype));
  }
  return static_cast<char*>(array.data) + array.byte_offset;
}

Tensor over(ContextDevice& device, const dlpack::Array& array) {
  require_cpu(device, array.device);
  const DType dtype = checked_type(array.dtype);
  const Shape shape = shape_of(array);
  const Shape strides = array.ndim == 0 || array.strides == nullptr ? contiguous_strides(shape)
                                                                    : checked_strides(shape, array.strides, "managed");
  return from_buffer(device, dtype, shape, strides, first_element(array, shape, dtype));
}

template <class Managed>
void run_deleter(void* user) {
  auto* managed = static_cast<Managed*>(user);
  if (managed->deleter != nullptr) managed->deleter(managed);
}

// An exported tensor: the standard's structure, the arrays that it points to, and the references that keep the memory.
template <class Managed>
struct Loan {
  Managed managed;
  Shape shape;
  Shape strides;
  Tensor tensor;
  Ref<LentMemory> memory;

  static void end(Managed* managed) { delete static_cast<Loan*>(managed->owner); }
};

template <class Managed>
Managed* lend(const Tensor& tensor) {
  if (tensor.gradient_source()) {
    fail(Code::kState, "tensor", "tensor requires a gradient, which DLPack cannot tell; detach it first");
  }
  Device& device = *tensor.device().device;
  if (device.kind() != DeviceKind::kCpu) {
    fail(Code::kDevice, "tensor", "tensor is on %s; only memory of the cpu goes out by DLPack", device.name());
  }
  const dlpack::DataType type = type_of(tensor.dtype());
  check(device.stream().synchronize());
  if (tensor.numel() > 0 && tensor.data() == nullptr) {
    fail(Code::kState, "tensor", "tensor has no memory now: the weights that ranks share are not gathered");
  }
  auto* loan = new Loan<Managed>{.managed = {},
                                 .shape = tensor.shape(),
                                 .strides = tensor.strides(),
                                 .tensor = tensor,
                                 .memory = tensor.storage()->lend()};
  loan->managed.owner = loan;
  loan->managed.deleter = Loan<Managed>::end;
  loan->managed.array = {.data = tensor.numel() == 0 ? nullptr : tensor.data(),
                         .device = {.type = dlpack::kCpu, .index = 0},
                         .ndim = tensor.rank(),
                         .dtype = type,
                         .shape = &loan->shape[0],
                         .strides = &loan->strides[0],
                         .byte_offset = 0};
  return &loan->managed;
}

}  // namespace

Tensor from_dlpack(ContextDevice& device, const DLManagedTensor& managed) { return over(device, managed.array); }

Tensor from_dlpack(ContextDevice& device, const DLManagedTensorVersioned& managed) {
  if (managed.version.major != dlpack::kVersion.major) {
    fail(Code::kUnsupported, "managed", "managed is of DLPack %u.%u, expected %u of any minor number",
         managed.version.major, managed.version.minor, dlpack::kVersion.major);
  }
  constexpr uint64_t kKnown = dlpack::kReadOnly | dlpack::kIsCopied | dlpack::kSubbytePadded;
  if ((managed.flags & ~kKnown) != 0) {
    fail(Code::kUnsupported, "managed", "managed has flags 0x%" PRIx64 ", expected none beyond 0x%" PRIx64,
         managed.flags, kKnown);
  }
  const Tensor tensor = over(device, managed.array);
  if ((managed.flags & dlpack::kReadOnly) != 0) tensor.storage()->forbid_writes();
  return tensor;
}

void take_over(const Tensor& tensor, DLManagedTensor& managed) noexcept {
  tensor.storage()->set_deleter(run_deleter<DLManagedTensor>, &managed);
}

void take_over(const Tensor& tensor, DLManagedTensorVersioned& managed) noexcept {
  tensor.storage()->set_deleter(run_deleter<DLManagedTensorVersioned>, &managed);
}

DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor) {
  auto* managed = lend<DLManagedTensorVersioned>(tensor);
  managed->version = dlpack::kVersion;
  if (tensor.storage()->is_read_only()) managed->flags = dlpack::kReadOnly;
  return managed;
}

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  if (tensor.storage()->is_read_only()) {
    fail(Code::kState, "tensor", "tensor is read-only, which DLPack before version 1 cannot tell");
  }
  return lend<DLManagedTensor>(tensor);
}

}  // namespace halftone
