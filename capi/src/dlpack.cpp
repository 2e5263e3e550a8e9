#include "tensor/dlpack.h"

#include "arguments.h"
#include "guard.h"
#include "halftone/dlpack.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

template <class Managed>
void borrow(htone_device* device, Managed* managed, htone_tensor** out) {
  ContextDevice& target = unwrap(device, "device")->device;
  const Tensor tensor = from_dlpack(target, require(managed, "managed"));
  wrap(out, tensor);
  // Last: until the handle stands, the memory is the caller's.
  take_over(tensor, *managed);
}

}  // namespace

htone_status htone_tensor_from_dlpack_versioned(htone_device* device, DLManagedTensorVersioned* managed,
                                                htone_tensor** out) {
  return guard([&] { borrow(device, managed, out); });
}

htone_status htone_tensor_from_dlpack(htone_device* device, DLManagedTensor* managed, htone_tensor** out) {
  return guard([&] { borrow(device, managed, out); });
}

htone_status htone_tensor_to_dlpack_versioned(htone_tensor* tensor, DLManagedTensorVersioned** out) {
  return guard([&] {
    const Tensor& source = unwrap(tensor, "tensor");
    require_memory(out, "out");
    *out = to_dlpack_versioned(source);
  });
}

htone_status htone_tensor_to_dlpack(htone_tensor* tensor, DLManagedTensor** out) {
  return guard([&] {
    const Tensor& source = unwrap(tensor, "tensor");
    require_memory(out, "out");
    *out = to_dlpack(source);
  });
}
