#include "halftone/tensor.h"

#include "arguments.h"
#include "guard.h"
#include "tensor/arange.h"
#include "tensor/factory.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(HTONE_MAX_NDIM == kMaxRank);

namespace {

ContextDevice& device_of(htone_device* device) { return unwrap(device, "device")->device; }

size_t byte_count(const Tensor& tensor, DType dtype) { return static_cast<size_t>(tensor.numel()) * size_of(dtype); }

void require_data(const void* data, const Shape& shape) {
  if (numel(shape) > 0) require_memory(data, "data");
}

void require_aligned(const void* data, DType dtype) {
  if (reinterpret_cast<uintptr_t>(data) % size_of(dtype) == 0) return;
  fail(Code::kInvalidArgument, "data", "data=%p is not aligned to the %zu bytes of %s", data, size_of(dtype),
       name_of(dtype));
}

// The deleter comes last: until the handle stands, the memory is the caller's.
void share_buffer(const Tensor& tensor, void (*deleter)(void*), void* user, htone_tensor** out) {
  wrap(out, tensor);
  tensor.storage()->set_deleter(deleter, user);
}

}  // namespace

htone_status htone_tensor_create(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                 htone_tensor** out) {
  return guard([&] {
    ContextDevice& target = device_of(device);
    const DType element = checked_dtype(dtype, "dtype");
    const Shape sizes = checked_shape_argument(ndim, shape);
    require(out, "out");
    wrap(out, empty(target, element, sizes, Category::kOther));
  });
}

htone_status htone_tensor_create_full(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                      double value, htone_tensor** out) {
  return guard([&] {
    ContextDevice& target = device_of(device);
    const DType element = checked_dtype(dtype, "dtype");
    const Shape sizes = checked_shape_argument(ndim, shape);
    require(out, "out");
    wrap(out, full(target, element, sizes, value, Category::kOther));
  });
}

htone_status htone_arange(htone_device* device, htone_dtype dtype, double start, double end, double step,
                          htone_tensor** out) {
  return guard([&] {
    ContextDevice& target = device_of(device);
    const DType element = checked_dtype(dtype, "dtype");
    require(out, "out");
    wrap(out, arange(target, element, {start, end, step}));
  });
}

htone_status htone_tensor_create_copy(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                      const void* data, htone_tensor** out) {
  return guard([&] {
    ContextDevice& target = device_of(device);
    const DType element = checked_dtype(dtype, "dtype");
    const Shape sizes = checked_shape_argument(ndim, shape);
    require_data(data, sizes);
    require(out, "out");
    wrap(out, from_host(target, element, sizes, data, Category::kOther));
  });
}

htone_status htone_tensor_from_buffer(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                      void* data, void (*deleter)(void* user), void* user, htone_tensor** out) {
  return guard([&] {
    ContextDevice& target = device_of(device);
    const DType element = checked_dtype(dtype, "dtype");
    const Shape sizes = checked_shape_argument(ndim, shape);
    require_data(data, sizes);
    require_aligned(data, element);
    share_buffer(from_buffer(target, element, sizes, data), deleter, user, out);
  });
}

htone_status htone_tensor_from_buffer_strided(htone_device* device, htone_dtype dtype, int32_t ndim,
                                              const int64_t* shape, const int64_t* strides, void* data,
                                              void (*deleter)(void* user), void* user, htone_tensor** out) {
  return guard([&] {
    ContextDevice& target = device_of(device);
    const DType element = checked_dtype(dtype, "dtype");
    const Shape sizes = checked_shape_argument(ndim, shape);
    if (ndim > 0) require(strides, "strides");
    const Shape steps = checked_strides(sizes, strides, "strides");
    require_data(data, sizes);
    require_aligned(data, element);
    share_buffer(from_buffer(target, element, sizes, steps, data), deleter, user, out);
  });
}

htone_status htone_tensor_retain(htone_tensor* tensor) {
  return guard([&] { retain_handle(tensor, "tensor"); });
}

htone_status htone_tensor_release(htone_tensor* tensor) {
  return guard([&] { release_handle(tensor, "tensor"); });
}

htone_status htone_tensor_dtype(htone_tensor* tensor, htone_dtype* out_dtype) {
  return guard([&] {
    const Tensor& source = unwrap(tensor, "tensor");
    require(out_dtype, "out_dtype") = static_cast<htone_dtype>(source.dtype());
  });
}

htone_status htone_tensor_numel(htone_tensor* tensor, int64_t* out_count) {
  return guard([&] {
    const Tensor& source = unwrap(tensor, "tensor");
    require(out_count, "out_count") = source.numel();
  });
}

htone_status htone_tensor_shape(htone_tensor* tensor, int32_t capacity, int64_t* out_shape, int32_t* out_ndim) {
  return guard([&] { copy_sizes(unwrap(tensor, "tensor").shape(), capacity, out_shape, "out_shape", out_ndim); });
}

htone_status htone_tensor_strides(htone_tensor* tensor, int32_t capacity, int64_t* out_strides, int32_t* out_ndim) {
  return guard([&] { copy_sizes(unwrap(tensor, "tensor").strides(), capacity, out_strides, "out_strides", out_ndim); });
}

htone_status htone_tensor_device(htone_tensor* tensor, htone_device** out) {
  return guard([&] {
    ContextDevice& device = unwrap(tensor, "tensor").device();
    wrap(out, make_ref<DeviceReference>(device));
  });
}

htone_status htone_tensor_data(htone_tensor* tensor, void** out_data) {
  return guard([&] {
    const Tensor& source = unwrap(tensor, "tensor");
    require(out_data, "out_data") = source.numel() == 0 ? nullptr : source.data();
  });
}

htone_status htone_tensor_read(htone_tensor* tensor, htone_dtype dtype, void* out_data, size_t capacity) {
  return guard([&] {
    const Tensor& source = unwrap(tensor, "tensor");
    const DType element = checked_dtype(dtype, "dtype");
    require_memory(out_data, "out_data");
    const size_t needed = byte_count(source, element);
    if (capacity < needed) {
      fail(Code::kBufferTooSmall, "capacity", "capacity=%zu, expected at least %zu", capacity, needed);
    }
    read_to_host(source, element, out_data);
  });
}

htone_status htone_tensor_write(htone_tensor* tensor, htone_dtype dtype, const void* data, size_t size) {
  return guard([&] {
    const Tensor& target = unwrap(tensor, "tensor");
    const DType element = checked_dtype(dtype, "dtype");
    require_memory(data, "data");
    if (size != byte_count(target, element)) {
      fail(Code::kInvalidArgument, "size", "size=%zu, expected %zu", size, byte_count(target, element));
    }
    require_writable(target, "tensor");
    write_from_host(target, element, data);
  });
}

htone_status htone_tensor_mark_written(htone_tensor* tensor) {
  return guard([&] { unwrap(tensor, "tensor").storage()->bump_version(); });
}

htone_status htone_tensor_item(htone_tensor* tensor, double* out_value) {
  return guard([&] {
    const Tensor& source = unwrap(tensor, "tensor");
    require(out_value, "out_value") = item(source);
  });
}

htone_status htone_tensor_fill(htone_tensor* tensor, double value) {
  return guard([&] {
    const Tensor& target = unwrap(tensor, "tensor");
    require_writable(target, "tensor");
    fill(target, value);
  });
}
