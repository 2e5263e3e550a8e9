#include "tensor/factory.h"

#include <cinttypes>
#include <utility>

#include "tensor/launch.h"

namespace halftone {

namespace {

size_t byte_count(const Tensor& tensor) { return static_cast<size_t>(tensor.numel()) * size_of(tensor.dtype()); }

// Needs no wait: the device copies the host memory before the call returns (backend/device.h).
void upload(const Tensor& tensor, const void* host) {
  Stream& stream = current_stream(tensor.device());
  check(tensor.device().device->copy_from_host(stream, tensor.data(), host, byte_count(tensor)));
}

void download(const Tensor& tensor, void* host) {
  Stream& stream = current_stream(tensor.device());
  check(tensor.device().device->copy_to_host(stream, host, tensor.data(), byte_count(tensor)));
  check(stream.synchronize());
}

void cast(const Tensor& source, const Tensor& target) {
  launch("cast", target.device(), &Kernels::convert, &ConvertKernels::cast, source.view(), target.view());
}

// Checked because operations compute shapes: sizes that were valid each may have a product that is not.
size_t checked_bytes(DType dtype, const Shape& shape) {
  checked_shape(shape.begin(), shape.rank(), "shape");
  return static_cast<size_t>(numel(shape)) * size_of(dtype);
}

}  // namespace

Tensor empty(ContextDevice& device, DType dtype, const Shape& shape, Category category) {
  const size_t bytes = checked_bytes(dtype, shape);
  return Tensor(Storage::allocate(device, bytes, category), dtype, shape, contiguous_strides(shape), 0);
}

Tensor empty_without_memory(ContextDevice& device, DType dtype, const Shape& shape, Category category) {
  const size_t bytes = checked_bytes(dtype, shape);
  return Tensor(Storage::without_memory(device, bytes, category), dtype, shape, contiguous_strides(shape), 0);
}

Tensor full(ContextDevice& device, DType dtype, const Shape& shape, double value, Category category) {
  Tensor tensor = empty(device, dtype, shape, category);
  launch("fill", device, &Kernels::convert, &ConvertKernels::fill, value, tensor.view());
  return tensor;
}

Tensor from_host(ContextDevice& device, DType dtype, const Shape& shape, const void* data, Category category) {
  Tensor tensor = empty(device, dtype, shape, category);
  if (tensor.numel() > 0) upload(tensor, data);
  return tensor;
}

Tensor from_buffer(ContextDevice& device, DType dtype, const Shape& shape, void* data) {
  return from_buffer(device, dtype, shape, contiguous_strides(shape), data);
}

Tensor from_buffer(ContextDevice& device, DType dtype, const Shape& shape, const Shape& strides, void* data) {
  Ref<Storage> storage = Storage::borrow(device, data);
  if (may_overlap(shape, strides)) storage->forbid_writes();
  return Tensor(std::move(storage), dtype, shape, strides, 0);
}

Tensor permutation(ContextDevice& device, int64_t n, PhiloxKey key) {
  Tensor tensor = empty(device, DType::kI64, {n}, Category::kOther);
  launch("randperm", device, &Kernels::random, &RandomKernels::permutation, key, tensor.view());
  return tensor;
}

Tensor contiguous(const Tensor& tensor) { return tensor.is_contiguous() ? tensor : converted(tensor, tensor.dtype()); }

Tensor converted(const Tensor& tensor, DType dtype, Category category) {
  Tensor result = empty(tensor.device(), dtype, tensor.shape(), category);
  cast(tensor, result);
  return result;
}

Tensor moved_to(ContextDevice& device, const Tensor& tensor) {
  if (&tensor.device() == &device) return tensor;
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.numel()) * size_of(tensor.dtype()));
  read_to_host(tensor, tensor.dtype(), bytes.data());
  return from_host(device, tensor.dtype(), tensor.shape(), bytes.data());
}

void fill(const Tensor& tensor, double value) {
  launch("fill", tensor.device(), &Kernels::convert, &ConvertKernels::fill, value, tensor.view());
  tensor.bump_version();
}

void copy(const Tensor& source, const Tensor& target) {
  cast(source, target);
  target.bump_version();
}

void bring_back(const Tensor& source, const Tensor& target) { cast(source, target); }

void fill_uniform(const Tensor& tensor, PhiloxKey key, double low, double high) {
  launch("uniform", tensor.device(), &Kernels::random, &RandomKernels::uniform, key, low, high, tensor.view());
  tensor.bump_version();
}

void fill_normal(const Tensor& tensor, PhiloxKey key, double mean, double std) {
  launch("normal", tensor.device(), &Kernels::random, &RandomKernels::normal, key, mean, std, tensor.view());
  tensor.bump_version();
}

// A bernoulli tensor is a dropout mask over ones.
void fill_bernoulli(const Tensor& tensor, PhiloxKey key, double p) {
  const Tensor one = full(tensor.device(), DType::kF32, {}, 1.0);
  View ones = {.data = one.data(), .dtype = DType::kF32, .shape = tensor.shape(), .strides = {}};
  for (int i = 0; i < tensor.rank(); ++i) ones.strides.push_back(0);
  launch("bernoulli", tensor.device(), &Kernels::random, &RandomKernels::dropout,
         Dropout{.key = key, .p = 1.0 - p, .scale = 1.0}, ones, tensor.view());
  tensor.bump_version();
}

void read_to_host(const Tensor& tensor, DType dtype, void* host) {
  if (tensor.numel() == 0) return;
  const bool as_is = tensor.dtype() == dtype && tensor.is_contiguous();
  download(as_is ? tensor : converted(tensor, dtype), host);
}

void write_from_host(const Tensor& tensor, DType dtype, const void* host) {
  if (tensor.numel() == 0) return;
  if (tensor.dtype() == dtype && tensor.is_contiguous()) {
    upload(tensor, host);
  } else {
    cast(from_host(tensor.device(), dtype, tensor.shape(), host), tensor);
  }
  tensor.bump_version();
}

double item(const Tensor& tensor) {
  if (tensor.numel() != 1) {
    fail(Code::kShapeMismatch, "tensor", "tensor %s has %" PRId64 " elements, expected 1",
         ShapeText(tensor.shape()).text, tensor.numel());
  }
  double value;
  read_to_host(tensor, DType::kF64, &value);
  return value;
}

}  // namespace halftone
