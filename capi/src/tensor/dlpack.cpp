#include "tensor/dlpack.h"

#include "base/call.h"
#include "halftone/dlpack.h"
#include "runtime/handles.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// take_over comes last: if the handle cannot be made, the memory stays the caller's.
template <class Managed>
void borrow(ContextDevice& device, Managed* managed, htone_tensor** out) {
  const Tensor tensor = from_dlpack(device, require(managed, "managed"));
  require_memory(out, "out");
  give_handle(out, tensor);
  take_over(tensor, *managed);
}

}  // namespace

htone_status htone_tensor_from_dlpack_versioned(htone_device* device, DLManagedTensorVersioned* managed,
                                                htone_tensor** out) {
  return guard([&] {
    const auto target = hold(device, "device");
    borrow(*target, managed, out);
  });
}

htone_status htone_tensor_from_dlpack(htone_device* device, DLManagedTensor* managed, htone_tensor** out) {
  return guard([&] {
    const auto target = hold(device, "device");
    borrow(*target, managed, out);
  });
}

htone_status htone_tensor_to_dlpack_versioned(htone_tensor* tensor, DLManagedTensorVersioned** out) {
  return Call(to_dlpack_versioned, tensor, out);
}

htone_status htone_tensor_to_dlpack(htone_tensor* tensor, DLManagedTensor** out) {
  return Call(to_dlpack, tensor, out);
}
