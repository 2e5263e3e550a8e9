/* Functions that take Python objects, and the constructor of a device in the default context. */

%feature("docstring") ht::live_handles "live_handles()
--

Counts the objects of the library that are alive in this process.";
%feature("docstring") ht::Device::Device "Device(name, context=None)

Finds a device by name: 'cpu', 'cuda', 'cuda:1', 'meta', or the name of a device of a loaded plugin. Without a context
it belongs to the default one.";

/* They take Python objects, and leave the GIL themselves around a call of the library. */
%nothread ht::borrow_buffer;
%nothread ht::make_capsule;
%nothread ht::share_memory;
%nothread ht::take_capsule;
%newobject ht::borrow_buffer;
%newobject ht::take_capsule;
%exception {
  try {
    $action
  } catch (const halftone_bindings::StatusError& error) {
    ht::raise(error, "$symname");
    SWIG_fail;
  }
  if (PyErr_Occurred()) SWIG_fail;
}

%newobject ht::batches_of_function;
%newobject ht::store_of_functions;
%include "caller_objects.i"

%inline %{
namespace ht {

/* Another Python object for a module, which owns no reference. */
inline Module* borrow_module(Module* module) { return module; }

inline int64_t live_handles() {
  int64_t count = 0;
  check(htone_debug_live_handles(&count));
  return count;
}

/* An object's address is its handle. */
inline void keep_handle(void* thing) { check(htone_keep(thing)); }

inline bool watch_signal(unsigned long main_thread) { return watch_interrupts(main_thread); }

inline void read_memory(Tensor* tensor, Dtype dtype, const WritableMemory& memory) {
  check(htone_tensor_read(tensor, htone_dtype(dtype), memory.data, memory.size));
}

inline Tensor* borrow_buffer(PyObject* object, Device* device, Dtype dtype, const Integers& shape,
                             const Integers& strides) {
  return borrow_view(object, device, htone_dtype(dtype), shape, strides);
}

inline PyObject* make_capsule(Tensor* tensor, bool is_versioned) { return to_dlpack(tensor, is_versioned); }

inline PyObject* share_memory(Tensor* tensor) { return lend_memory(tensor); }

inline Tensor* take_capsule(Device* device, PyObject* capsule) { return from_dlpack(device, capsule); }

}  // namespace ht
%}

namespace ht {
%extend Device {
  Device(const char* name, ContextOrNone* context = nullptr) {
    htone_context* owner = context;
    if (owner == nullptr) check(htone_context_default(&owner));
    htone_device* device = nullptr;
    const htone_status status = htone_device_create(owner, name, &device);
    if (context == nullptr) (void)!htone_context_release(owner);
    check(status);
    return device;
  }
}
}

/* A slot lies outside of the attributes, which several objects of one module share (halftone/custom.py). */
%extend ht::Module {
%pythoncode %{
    __slots__ = ("_owner", "__dict__", "__weakref__")
%}
}
