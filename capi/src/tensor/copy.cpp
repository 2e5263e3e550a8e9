#include "halftone/copy.h"

#include "base/call.h"
#include "ops/elementwise/in_place.h"
#include "ops/shape/clone.h"
#include "runtime/handles.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

Tensor converted_to(const Tensor& tensor, const Ref<DeviceReference>& device, DType dtype) {
  return ops::to(tensor, device ? device->device : tensor.device(), dtype);
}

// A storage without bytes of its own is over the caller's buffer.
bool is_shared(const Tensor& tensor) noexcept {
  return tensor.numel() != 0 && (!tensor.is_sole() || tensor.storage()->byte_count() == 0);
}

}  // namespace

htone_status htone_tensor_clone(htone_tensor* tensor, htone_tensor** out) { return Pure(ops::clone, tensor, out); }

htone_status htone_tensor_contiguous(htone_tensor* tensor, htone_tensor** out) {
  return Pure(ops::row_major, tensor, out);
}

htone_status htone_tensor_is_contiguous(htone_tensor* tensor, int32_t* out_is_contiguous) {
  return Pure(ops::is_row_major, tensor, out_is_contiguous);
}

htone_status htone_tensor_is_shared(htone_tensor* tensor, int32_t* out_is_shared) {
  return Pure(is_shared, tensor, out_is_shared);
}

htone_status htone_tensor_to(htone_tensor* tensor, htone_device* device, htone_dtype dtype, htone_tensor** out) {
  return Pure(converted_to, tensor, optional(device), as<checked_dtype>(dtype), out);
}

htone_status htone_tensor_copy_from(htone_tensor* tensor, htone_tensor* source) {
  return Call(ops::copy_from, tensor, source);
}
