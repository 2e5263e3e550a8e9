/* The native methods of C#, which only the classes of bindings/csharp and the generated ones call: enumerations are
 * integers, texts are UTF-8 and end with a zero, arrays begin with their length. A failure makes the exception that
 * HalftoneException.Of makes pending; the classes throw it after the call (Failure.cs). */
%module Native

%{
#include "callables.h"
#include "dlpack.h"
%}

%include "csharp_arguments.i"

%include "stdint.i"

%insert(runtime) %{
/* Managed code registers a function that makes an exception pending. */
typedef void(SWIGSTDCALL* HalftoneRaise)(int status, const char* message, const char* argument, int native_code);
static HalftoneRaise raise_managed = nullptr;

extern "C" SWIGEXPORT void SWIGSTDCALL HalftoneRegisterRaise(HalftoneRaise callback) { raise_managed = callback; }
%}

%exception {
  try {
    $action
  } catch (const halftone_bindings::StatusError& error) {
    raise_managed(error.info.status, error.info.message, ht::argument_name(ht::kArguments, error.info),
                  error.info.native_code);
    return $null;
  } catch (const std::bad_alloc&) {
    raise_managed(HTONE_ERROR_OUT_OF_MEMORY, "the binding ran out of native memory", "", 0);
    return $null;
  }
}

%pragma(csharp) moduleclassmodifiers = "static class"
%pragma(csharp) imclassclassmodifiers = "static class"
%pragma(csharp) imclasscode = %{
  static NativePINVOKE() {
    try {
      HalftoneRegisterRaise(Failure.raise);
      HalftoneRegisterCallbacks(CallbackCall.run, CallbackCall.drop);
    } catch (global::System.DllNotFoundException missing) {
      throw NativeLibraries.NotFound(missing);
    }
  }

  [global::System.Runtime.InteropServices.DllImport("$dllimport")]
  static extern void HalftoneRegisterRaise(Failure.Raise callback);

  [global::System.Runtime.InteropServices.DllImport("$dllimport")]
  static extern void HalftoneRegisterCallbacks(CallbackCall.Run run, ReleaseCallback drop);
%}

/* -DSWIGWORDSIZE64 makes int64_t a long, which SWIG treats as 32 bits here. */
%apply long long { int64_t, size_t };
%apply unsigned long long { uint64_t };

%define %halftone_plain(CTYPE, CSTYPE, TYPE)
%typemap(ctype) TYPE "CTYPE"
%typemap(imtype) TYPE "CSTYPE"
%typemap(cstype) TYPE "CSTYPE"
%typemap(csin) TYPE "$csinput"
%typemap(csout, excode = SWIGEXCODE) TYPE { CSTYPE made = $imcall;$excode return made; }
%enddef

%typemap(cstype) SWIGTYPE* "global::System.IntPtr"
%typemap(csin) SWIGTYPE* "new global::System.Runtime.InteropServices.HandleRef(null, $csinput)"
%typemap(csout, excode = SWIGEXCODE) SWIGTYPE* { global::System.IntPtr made = $imcall;$excode return made; }
%apply SWIGTYPE* { void* };

%halftone_plain(char*, byte[], const char*)
%halftone_plain(const int64_t*, long[], const ht::Integers&)
%typemap(out, null = "nullptr") Tensor* "$result = ht::from_tensor($1);"
%halftone_plain(const char*, byte[], const ht::Texts&)
%halftone_plain(const char*, byte[], const ht::Memory&)
%halftone_plain(const char*, byte[], const ht::Packed&)
%halftone_plain(const void*, global::System.IntPtr, ht::Integers)
%halftone_plain(const void*, global::System.IntPtr, ht::Bytes)
%halftone_plain(const void*, global::System.IntPtr, std::string)
namespace ht {
typedef void* Address;
typedef void (*ReleaseFunction)(void*);
}
%halftone_plain(void*, global::System.IntPtr, ht::Address)
%halftone_plain(void*, ReleaseCallback, ht::ReleaseFunction)
%halftone_plain(void*, global::System.IntPtr, ht::Callback&)

%typemap(in) const char* "$1 = $input;"
%typemap(freearg) const char* ""
%typemap(in) const ht::Integers& (ht::Integers copy) {
  copy = ht::to_integers($input);
  $1 = &copy;
}
%typemap(in) const ht::Texts& (ht::Texts copy) {
  copy = ht::to_texts($input);
  $1 = &copy;
}
%typemap(in) const ht::Memory& (ht::Memory memory) {
  memory = ht::to_memory($input);
  $1 = &memory;
}
%typemap(in) const ht::Packed& (ht::Packed packed) {
  packed.data = $input;
  $1 = &packed;
}
%typemap(in) ht::Address "$1 = $input;"
%typemap(in) ht::Callback& (ht::Callback made) {
  made = ht::to_callback($input);
  $1 = &made;
}
%typemap(in) ht::ReleaseFunction "$1 = reinterpret_cast<ht::ReleaseFunction>($input);"

%feature("novaluewrapper") ht::Integers;
%feature("novaluewrapper") ht::Bytes;
%typemap(out, null = "nullptr") ht::Integers "$result = ht::from_integers($1);"
%typemap(out, null = "nullptr") ht::Bytes "$result = ht::from_text($1.content);"
%typemap(out, null = "nullptr") std::string "$result = ht::from_text($1);"

%define %halftone_handles(TYPE)
namespace ht { class TYPE##List; }
%halftone_plain(const int64_t*, long[], const ht::TYPE##List&)
%halftone_plain(const void*, global::System.IntPtr, ht::TYPE##List)
%feature("novaluewrapper") ht::TYPE##List;
%typemap(in) const ht::TYPE##List& (ht::TYPE##List copy) {
  copy = ht::to_handles<ht::TYPE##List>($input);
  $1 = &copy;
}
%typemap(out, null = "nullptr") ht::TYPE##List "$result = ht::from_handles($1);"
%enddef

%include "managed.i"

%{
extern "C" SWIGEXPORT void SWIGSTDCALL HalftoneRegisterCallbacks(int (*run)(void*, const void*, void*),
                                                                 void (*drop)(void*)) {
  ht::csharp_runner() = {run, drop};
}
%}

%inline %{
namespace ht {

inline void count_interrupts(int32_t change) { __atomic_fetch_add(&interrupt_count, change, __ATOMIC_RELAXED); }

/* `decide` is asked on the thread of each call that finds another number than 0. */
inline void decide_interrupts(Callback& decide) {
  check(htone_interrupt_set_callback(&interrupt_count, trampoline<htone_interrupt_fn>(decide), decide.get(),
                                     drop_callable));
  (void)decide.release();
}

/* The counter itself. */
inline Address made_bytes() { return &returned_bytes(); }

inline AutocastPolicy* retain_autocast_policy(AutocastPolicy* policy) {
  check(htone_autocast_policy_retain(policy));
  return policy;
}

/* `data` has `size` bytes, which the caller has pinned for the call. */
inline Tensor* tensor_from_memory(Device* device, int32_t dtype, const Integers& shape, Address data, int64_t size) {
  require_elements("Tensor.From", Memory{data, size_t(size)}, dtype, shape);
  htone_tensor* tensor = nullptr;
  check(htone_tensor_create_copy(device, htone_dtype(dtype), int32_t(shape.size()), data_of(shape), data, &tensor));
  return tensor;
}

inline void tensor_read_memory(Tensor* tensor, int32_t dtype, Address data, int64_t size) {
  check(htone_tensor_read(tensor, htone_dtype(dtype), data, size_t(size)));
}

inline void tensor_write_memory(Tensor* tensor, int32_t dtype, Address data, int64_t size) {
  check(htone_tensor_write(tensor, htone_dtype(dtype), data, size_t(size)));
}

inline bool tensor_is_read_only(Tensor* tensor) {
  htone_tensor* detached = nullptr; /* a tensor that requires a gradient is not lent */
  DLManagedTensorVersioned* loan = nullptr;
  check(htone_tensor_detach(tensor, &detached));
  const htone_status status = htone_tensor_to_dlpack_versioned(detached, &loan);
  (void)!htone_tensor_release(detached);
  check(status);
  const bool found = is_read_only(*loan);
  loan->deleter(loan);
  return found;
}

/* The loan keeps the tensor's memory until end_loan. */
inline Address lend_memory(Tensor* tensor) {
  DLManagedTensorVersioned* loan = nullptr;
  check(htone_tensor_to_dlpack_versioned(tensor, &loan));
  if (!is_read_only(*loan)) return loan;
  loan->deleter(loan);
  refuse("Tensor.Lend", "the tensor is read-only; Clone makes one that is not");
}

inline Address loan_address(Address loan) { return address_of(*static_cast<DLManagedTensorVersioned*>(loan)); }

inline void end_loan(Address loan) {
  auto* const lent = static_cast<DLManagedTensorVersioned*>(loan);
  lent->deleter(lent);
}

/* `release` is called with `user` when the storage of the tensor is freed. */
inline Tensor* tensor_over_memory(Device* device, int32_t dtype, const Integers& shape, Address data, int64_t size,
                                  ReleaseFunction release, Address user) {
  require_elements("Tensor.Wrap", Memory{data, size_t(size)}, dtype, shape);
  htone_tensor* tensor = nullptr;
  check(htone_tensor_from_buffer(device, htone_dtype(dtype), int32_t(shape.size()), data_of(shape), data, release,
                                 user, &tensor));
  return tensor;
}

}  // namespace ht
%}
