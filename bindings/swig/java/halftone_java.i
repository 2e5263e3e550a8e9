/* The native methods of Java, which only the classes of bindings/java and the generated ones call: handles are longs,
 * enumerations are integers, texts are bytes of UTF-8. A failure throws the exception that HalftoneException.of makes.
 */
%module Native

%{
#include <memory>

#include "callables.h"
#include "dlpack.h"
%}

%include "java_arguments.i"

%include "stdint.i"

%pragma(java) jniclassclassmodifiers = "final class"
%pragma(java) moduleclassmodifiers = "final class"
%pragma(java) jniclasscode = %{
  static {
    Natives.load();
  }
%}

%exception {
  try {
    $action
  } catch (const halftone_bindings::StatusError& error) {
    ht::raise(jenv, error.info.status, error.info.message, ht::argument_name(ht::kArguments, error.info),
              error.info.native_code);
    return $null;
  } catch (const std::bad_alloc&) {
    ht::raise(jenv, HTONE_ERROR_OUT_OF_MEMORY, "the binding ran out of native memory", "", 0);
    return $null;
  }
}

/* -DSWIGWORDSIZE64 makes uint64_t an unsigned long, for which SWIG would take BigInteger. */
%apply long long { uint64_t, size_t, int64_t };

%define %halftone_plain(JNI, JAVA, TYPE)
%typemap(jni) TYPE "JNI"
%typemap(jtype) TYPE "JAVA"
%typemap(jstype) TYPE "JAVA"
%typemap(javain) TYPE "$javainput"
%typemap(javaout) TYPE { return $jnicall; }
%enddef

%halftone_plain(jlong, long, SWIGTYPE*)
%halftone_plain(jlong, long, void*)
%halftone_plain(jbyteArray, byte[], const char*)
%halftone_plain(jlongArray, long[], const ht::Integers&)
%halftone_plain(jobjectArray, byte[][], const ht::Texts&)
%halftone_plain(jbyteArray, byte[], const ht::Memory&)
%halftone_plain(jbyteArray, byte[], const ht::Packed&)
%halftone_plain(jlongArray, long[], ht::Integers)
%halftone_plain(jbyteArray, byte[], ht::Bytes)
%halftone_plain(jbyteArray, byte[], std::string)
%halftone_plain(jobject, Object, const ht::Numbers&)
%halftone_plain(jobject, java.nio.Buffer, const ht::DirectBuffer&)
%halftone_plain(jobject, Callback, ht::Callback&)
%halftone_plain(jobject, java.util.concurrent.Callable<?>, const ht::CallableBody&)
%halftone_plain(jobject, Object, jobject)
%halftone_plain(jobject, java.nio.ByteBuffer, ht::LentMemory)

%typemap(out) SWIGTYPE* {
  ht::count_returned($1);
  *($&1_ltype)&$result = $1;
}
%typemap(in) void* "$1 = reinterpret_cast<void*>(intptr_t($input));"
%typemap(in) const char* (std::string copy) {
  if ($input != nullptr) copy = ht::to_text(jenv, $input);
  $1 = const_cast<char*>($input == nullptr ? nullptr : copy.c_str());
}
%typemap(freearg) const char* ""
%typemap(in) const ht::Integers& (ht::Integers copy) {
  copy = ht::to_integers(jenv, $input);
  $1 = &copy;
}
%typemap(in) const ht::Texts& (ht::Texts copy) {
  copy = ht::to_texts(jenv, $input);
  $1 = &copy;
}
%typemap(in) const ht::Memory& (std::string copy, ht::Memory memory) {
  copy = ht::to_text(jenv, $input);
  memory = {copy.data(), copy.size()};
  $1 = &memory;
}
%typemap(in) const ht::Packed& (std::string copy, ht::Packed packed) {
  if ($input != nullptr) {
    copy = ht::to_text(jenv, $input);
    packed = {copy.data(), copy.size()};
  }
  $1 = &packed;
}
%typemap(in) const ht::Numbers& (std::unique_ptr<ht::Numbers> numbers) {
  numbers = std::make_unique<ht::Numbers>(jenv, $input);
  $1 = numbers.get();
}
%typemap(in) const ht::DirectBuffer& (ht::DirectBuffer buffer) {
  buffer = {jenv, $input};
  $1 = &buffer;
}

%typemap(in) const ht::CallableBody& (ht::CallableBody body) {
  body = {jenv, $input};
  $1 = &body;
}

%typemap(in) ht::Callback& (ht::Callback made) {
  made = ht::to_callback(jenv, $input);
  $1 = &made;
}

%feature("novaluewrapper") ht::Integers;
%feature("novaluewrapper") ht::Bytes;
%typemap(out) ht::Integers "$result = ht::from_integers(jenv, $1);"
%typemap(out) ht::Bytes "$result = ht::to_bytes(jenv, $1.content.data(), $1.content.size());"
%typemap(out) jobject "$result = $1;"
%typemap(out) ht::LentMemory "$result = jenv->NewDirectByteBuffer($1.data, $1.size);"
%typemap(out) std::string "$result = ht::to_bytes(jenv, $1.data(), $1.size());"

%define %halftone_handles(TYPE)
namespace ht { class TYPE##List; }
%halftone_plain(jlongArray, long[], const ht::TYPE##List&)
%halftone_plain(jlongArray, long[], ht::TYPE##List)
%feature("novaluewrapper") ht::TYPE##List;
%typemap(in) const ht::TYPE##List& (ht::TYPE##List copy) {
  copy = ht::to_handles<ht::TYPE##List>(jenv, $input);
  $1 = &copy;
}
%typemap(out) ht::TYPE##List "$result = ht::from_handles(jenv, $1);"
%enddef

%include "managed.i"

namespace ht {
class Numbers;
struct DirectBuffer;
struct CallableBody;
struct LentMemory;
}

%{
namespace ht {

/* While a Java array is open no garbage is collected, so the copy must not wait for work of the device, which may need
 * another thread of Java. */
inline void wait_for(Tensor* tensor) {
  htone_device* device = nullptr;
  check(htone_tensor_device(tensor, &device));
  const htone_status status = htone_device_synchronize(device);
  (void)!htone_device_release(device);
  check(status);
}

/* Becomes a direct buffer. */
struct LentMemory {
  void* data;
  int64_t size;
};

}  // namespace ht
%}

%inline %{
namespace ht {

/* To memory of the library. */
inline void copy_bytes(int64_t address, const Numbers& bytes) {
  bytes.with([&](const void* data, size_t count) { memcpy(reinterpret_cast<void*>(intptr_t(address)), data, count); });
}

inline jobject call_in_frame(const CallableBody& body) { return body.call(); }

inline bool is_in_frame() { return NativeFrame::is_below(); }

/* Java reads and writes the number where it is. */
inline LentMemory made_bytes() { return {&returned_bytes(), sizeof(int64_t)}; }

/* Leaves a scope to its stack, whose release ends it. One that a callback has left open ended with the callback. */
inline void end_scope_with_stack(Scope* scope) { (void)!htone_scope_end_later(scope); }

/* Refuses a stack that a thread uses. */
inline void require_unused(ScopeStack* stack) {
  check(htone_scope_stack_enter(stack));
  check(htone_scope_stack_leave(stack));
}

/* The array has elements of the dtype, as many as the shape implies. */
inline Tensor* tensor_from_numbers(Device* device, int32_t dtype, const Integers& shape, const Numbers& values) {
  size_t size = 0;
  check(htone_dtype_size(htone_dtype(dtype), &size));
  check(htone_device_synchronize(device));
  htone_tensor* tensor = nullptr;
  values.with([&](const void* data, size_t count) {
    require_elements("Tensor.of", Memory{data, count * size}, dtype, shape);
    check(htone_tensor_create_copy(device, htone_dtype(dtype), int32_t(shape.size()), data_of(shape), data, &tensor));
  });
  return tensor;
}

inline void tensor_read_numbers(Tensor* tensor, int32_t dtype, const Numbers& values) {
  wait_for(tensor);
  size_t size = 0;
  check(htone_dtype_size(htone_dtype(dtype), &size));
  values.with([&](void* data, size_t count) {
    check(htone_tensor_read(tensor, htone_dtype(dtype), data, count * size));
  });
}

inline void tensor_write_numbers(Tensor* tensor, int32_t dtype, const Numbers& values) {
  wait_for(tensor);
  size_t size = 0;
  check(htone_dtype_size(htone_dtype(dtype), &size));
  values.with([&](const void* data, size_t count) {
    check(htone_tensor_write(tensor, htone_dtype(dtype), data, count * size));
  });
}

/* The loan keeps the tensor's memory until end_loan. */
inline int64_t lend_memory(Tensor* tensor) {
  DLManagedTensorVersioned* loan = nullptr;
  check(htone_tensor_to_dlpack_versioned(tensor, &loan));
  if (!is_read_only(*loan)) return number_of(loan);
  loan->deleter(loan);
  refuse("Tensor.asByteBuffer", "the tensor is read-only; clone makes one that is not");
}

inline LentMemory lent_buffer(int64_t loan, int64_t size) {
  return {address_of(*reinterpret_cast<DLManagedTensorVersioned*>(intptr_t(loan))), size};
}

inline void end_loan(int64_t loan) {
  auto* const lent = reinterpret_cast<DLManagedTensorVersioned*>(intptr_t(loan));
  lent->deleter(lent);
}

inline void tensor_read_buffer(Tensor* tensor, int32_t dtype, const DirectBuffer& buffer, int64_t size) {
  check(htone_tensor_read(tensor, htone_dtype(dtype), buffer.data(), size_t(size)));
}

/* The buffer has `bytes` bytes; it stays reachable until the storage of the tensor is freed. */
inline Tensor* tensor_over_buffer(Device* device, int32_t dtype, const Integers& shape, const DirectBuffer& buffer,
                                  int64_t size) {
  require_elements("Tensor.wrap", Memory{buffer.data(), size_t(size)}, dtype, shape);
  auto kept = std::make_unique<KeptObject>(buffer.env, buffer.object);
  htone_tensor* tensor = nullptr;
  check(htone_tensor_from_buffer(
      device, htone_dtype(dtype), int32_t(shape.size()), data_of(shape), buffer.data(),
      [](void* user) { delete static_cast<KeptObject*>(user); }, kept.get(), &tensor));
  kept.release();  // NOLINT: the tensor owns it now
  return tensor;
}

}  // namespace ht
%}
