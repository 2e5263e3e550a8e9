// Memory that tensors share with Python objects: buffers and DLPack capsules. Every function expects the GIL.
#ifndef HALFTONE_BINDINGS_PYTHON_EXCHANGE_H
#define HALFTONE_BINDINGS_PYTHON_EXCHANGE_H

#include "conversions.h"
#include "dlpack.h"
#include "halftone/tensor.h"

namespace ht {

inline constexpr char kCapsule[] = "dltensor";
inline constexpr char kVersionedCapsule[] = "dltensor_versioned";

// Runs a call of the library without the GIL: it may wait for a thread that needs the GIL to release a buffer.
template <class Call>
void without_lock(Call call) {
  PyThreadState* state = PyEval_SaveThread();
  const htone_status status = call();
  PyEval_RestoreThread(state);
  check(status);
}

// Called by the library from any thread, after the last use of the memory. A process that ends keeps the buffer.
inline void release_view(void* user) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  delete static_cast<View*>(user);
  PyGILState_Release(state);
}

// Makes a tensor over the memory of a writable buffer, which stays locked until the tensor's storage is released.
// Strides count elements.
inline htone_tensor* borrow_view(PyObject* object, htone_device* device, htone_dtype dtype, const Integers& shape,
                                 const Integers& strides) {
  auto view = std::make_unique<View>();
  if (!view->open(object, PyBUF_STRIDES | PyBUF_WRITABLE)) return nullptr;
  htone_tensor* tensor = nullptr;
  without_lock([&] {
    return htone_tensor_from_buffer_strided(device, dtype, int32_t(shape.size()), data_of(shape), data_of(strides),
                                            view->buffer().buf, release_view, view.get(), &tensor);
  });
  view.release();  // NOLINT: the tensor owns it now
  return tensor;
}

// A capsule that was not taken runs the deleter itself.
template <class Managed>
void drop_capsule(PyObject* capsule) {
  const char* name = std::is_same_v<Managed, DLManagedTensor> ? kCapsule : kVersionedCapsule;
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

inline PyObject* to_dlpack(htone_tensor* tensor, bool is_versioned) {
  if (is_versioned) {
    DLManagedTensorVersioned* managed = nullptr;
    without_lock([&] { return htone_tensor_to_dlpack_versioned(tensor, &managed); });
    return PyCapsule_New(managed, kVersionedCapsule, drop_capsule<DLManagedTensorVersioned>);
  }
  DLManagedTensor* managed = nullptr;
  without_lock([&] { return htone_tensor_to_dlpack(tensor, &managed); });
  return PyCapsule_New(managed, kCapsule, drop_capsule<DLManagedTensor>);
}

// The memory of a tensor for numpy: a capsule that keeps it, its address, and whether it is read-only.
inline PyObject* lend_memory(htone_tensor* tensor) {
  const Object capsule(to_dlpack(tensor, true));
  if (!capsule) return nullptr;
  const auto* loan =
      static_cast<const DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.get(), kVersionedCapsule));
  return Py_BuildValue("OKO", capsule.get(), static_cast<unsigned long long>(uintptr_t(address_of(*loan))),
                       is_read_only(*loan) ? Py_True : Py_False);
}

// Takes the memory of a capsule and marks the capsule as used.
inline htone_tensor* from_dlpack(htone_device* device, PyObject* capsule) {
  htone_tensor* tensor = nullptr;
  if (PyCapsule_IsValid(capsule, kVersionedCapsule)) {
    void* managed = PyCapsule_GetPointer(capsule, kVersionedCapsule);
    without_lock([&] {
      return htone_tensor_from_dlpack_versioned(device, static_cast<DLManagedTensorVersioned*>(managed), &tensor);
    });
    PyCapsule_SetName(capsule, "used_dltensor_versioned");
    return tensor;
  }
  void* managed = PyCapsule_GetPointer(capsule, kCapsule);
  if (managed == nullptr) return nullptr;
  without_lock([&] { return htone_tensor_from_dlpack(device, static_cast<DLManagedTensor*>(managed), &tensor); });
  PyCapsule_SetName(capsule, "used_dltensor");
  return tensor;
}

}  // namespace ht

#endif
