#include "halftone/tensor.h"

#include "autograd/leaf/accumulate_grad.h"
#include "base/call.h"
#include "halftone/factory.h"
#include "runtime/handles.h"
#include "tensor/arange.h"
#include "tensor/factory.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(HTONE_MAX_NDIM == kMaxRank);

namespace {

Tensor make_tensor(ContextDevice& device, DType dtype, const Shape& shape) {
  return empty(device, dtype, shape, Category::kOther);
}

Tensor make_full(ContextDevice& device, DType dtype, const Shape& shape, double value) {
  return full(device, dtype, shape, value, Category::kOther);
}

void require_data(const void* data, const Shape& shape) {
  if (numel(shape) > 0) require_memory(data, "data");
}

Tensor make_copy(ContextDevice& device, DType dtype, const Shape& shape, const void* data) {
  require_data(data, shape);
  return from_host(device, dtype, shape, data, Category::kOther);
}

// Kernels load whole elements, which some instructions require to be aligned.
void require_aligned(const void* data, DType dtype) {
  if (reinterpret_cast<uintptr_t>(data) % size_of(dtype) == 0) return;
  fail(Code::kInvalidArgument, "data", "data=%p is not aligned to the %zu bytes of %s", data, size_of(dtype),
       name_of(dtype));
}

struct Layout {
  Shape shape;
  Shape strides;
};
Layout row_major(int32_t ndim, const int64_t* shape) {
  const Shape checked = fixed_shape(ndim, shape);
  return {checked, contiguous_strides(checked)};
}
Layout strided(int32_t ndim, const int64_t* shape, const int64_t* strides) {
  const Shape checked = fixed_shape(ndim, shape);
  if (ndim > 0) require(strides, "strides");
  return {checked, checked_strides(checked, strides, "strides")};
}

Tensor share_buffer(ContextDevice& device, DType dtype, const Layout& layout, void* data) {
  require_data(data, layout.shape);
  require_aligned(data, dtype);
  return from_buffer(device, dtype, layout.shape, layout.strides, data);
}

// The deleter is set last: if the handle cannot be made, the memory stays the caller's.
struct BufferResult {
  static constexpr int kParameters = 3;
  void (*deleter)(void* user);
  void* user;
  htone_tensor** out;

  void require(ArgumentName) const { require_memory(out, "out"); }
  void give(const Tensor& tensor) const {
    give_handle(out, tensor);
    tensor.storage()->set_deleter(deleter, user);
  }
};

Tensor arange_of(ContextDevice& device, DType dtype, double start, double end, double step) {
  return arange(device, dtype, {start, end, step});
}

Ref<DeviceReference> device_of(const Tensor& tensor) { return make_ref<DeviceReference>(tensor.device()); }

// An empty tensor may share a block with others, whose address would invite a read.
void* data_of(const Tensor& tensor) { return tensor.numel() == 0 ? nullptr : tensor.data(); }

size_t byte_count(const Tensor& tensor, DType dtype) { return static_cast<size_t>(tensor.numel()) * size_of(dtype); }

void read_all(const Tensor& tensor, DType dtype, void* data, size_t capacity) {
  require_memory(data, "out_data");
  const size_t needed = byte_count(tensor, dtype);
  if (capacity < needed) {
    fail(Code::kBufferTooSmall, "capacity", "capacity=%zu, expected at least %zu", capacity, needed);
  }
  read_to_host(tensor, dtype, data);
}

void write_all(const Tensor& tensor, DType dtype, const void* data, size_t size) {
  require_memory(data, "data");
  const size_t needed = byte_count(tensor, dtype);
  if (size != needed) fail(Code::kInvalidArgument, "size", "size=%zu, expected %zu", size, needed);
  require_writable(tensor, "tensor");
  write_from_host(tensor, dtype, data);
}

void fill_all(const Tensor& tensor, double value) {
  require_writable(tensor, "tensor");
  fill(tensor, value);
}

}  // namespace

htone_status htone_tensor_create(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                 htone_tensor** out) {
  return Call(make_tensor, device, as<checked_dtype>(dtype), as<fixed_shape>(ndim, shape), out);
}

htone_status htone_tensor_create_full(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                      double value, htone_tensor** out) {
  return Call(make_full, device, as<checked_dtype>(dtype), as<fixed_shape>(ndim, shape), value, out);
}

htone_status htone_arange(htone_device* device, htone_dtype dtype, double start, double end, double step,
                          htone_tensor** out) {
  return Call(arange_of, device, as<checked_dtype>(dtype), start, end, step, out);
}

htone_status htone_tensor_create_copy(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                      const void* data, htone_tensor** out) {
  return Call(make_copy, device, as<checked_dtype>(dtype), as<fixed_shape>(ndim, shape), data, out);
}

htone_status htone_tensor_from_buffer(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                      void* data, void (*deleter)(void* user), void* user, htone_tensor** out) {
  return Call(share_buffer, device, as<checked_dtype>(dtype), as<row_major>(ndim, shape), data,
              BufferResult{deleter, user, out});
}

htone_status htone_tensor_from_buffer_strided(htone_device* device, htone_dtype dtype, int32_t ndim,
                                              const int64_t* shape, const int64_t* strides, void* data,
                                              void (*deleter)(void* user), void* user, htone_tensor** out) {
  return Call(share_buffer, device, as<checked_dtype>(dtype), as<strided>(ndim, shape, strides), data,
              BufferResult{deleter, user, out});
}

htone_status htone_tensor_dtype(htone_tensor* tensor, htone_dtype* out_dtype) {
  return Pure(&Tensor::dtype, tensor, out_dtype);
}

htone_status htone_tensor_numel(htone_tensor* tensor, int64_t* out_count) {
  return Pure(&Tensor::numel, tensor, out_count);
}

htone_status htone_tensor_shape(htone_tensor* tensor, int64_t* out_shape, int32_t capacity, int32_t* out_ndim) {
  return Pure(&Tensor::shape, tensor, sizes(out_shape, capacity, out_ndim));
}

htone_status htone_tensor_strides(htone_tensor* tensor, int64_t* out_strides, int32_t capacity, int32_t* out_ndim) {
  return Pure(&Tensor::strides, tensor, sizes(out_strides, capacity, out_ndim));
}

htone_status htone_tensor_device(htone_tensor* tensor, htone_device** out) { return Pure(device_of, tensor, out); }

htone_status htone_tensor_data(htone_tensor* tensor, void** out_data) { return Pure(data_of, tensor, out_data); }

htone_status htone_tensor_read(htone_tensor* tensor, htone_dtype dtype, void* out_data, size_t capacity) {
  return Pure(read_all, tensor, as<checked_dtype>(dtype), out_data, capacity);
}

htone_status htone_tensor_write(htone_tensor* tensor, htone_dtype dtype, const void* data, size_t size) {
  return Call(write_all, tensor, as<checked_dtype>(dtype), data, size);
}

htone_status htone_tensor_mark_written(htone_tensor* tensor) {
  return Call([](const Tensor& written) { written.bump_version(); }, tensor);
}

htone_status htone_tensor_item(htone_tensor* tensor, double* out_value) { return Pure(item, tensor, out_value); }

htone_status htone_tensor_fill(htone_tensor* tensor, double value) { return Call(fill_all, tensor, value); }
