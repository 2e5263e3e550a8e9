/* Java: names are lowerCamelCase. A failure throws the exception that HalftoneException.of makes. The Reclaimer
 * releases a proxy that was not closed. Arrays are long... and direct float buffers. */

%{
#include "halftone/tensor.h"
#include "status.h"

#include <string.h>

namespace {

/* The message is passed as bytes: it may quote a name from the caller, and NewStringUTF requires modified UTF-8. If a
 * step fails, it has already left an exception. */
void raise(JNIEnv* env, const halftone_bindings::StatusError& error) {
  const jsize length = jsize(strlen(error.info.message));
  jclass type = env->FindClass("org/halftone/HalftoneException");
  if (type == nullptr) return;
  jmethodID of = env->GetStaticMethodID(type, "of", "(I[B)Lorg/halftone/HalftoneException;");
  if (of == nullptr) return;
  jbyteArray message = env->NewByteArray(length);
  if (message == nullptr) return;
  env->SetByteArrayRegion(message, 0, length, reinterpret_cast<const jbyte*>(error.info.message));
  jobject exception = env->CallStaticObjectMethod(type, of, jint(error.info.status), message);
  if (!env->ExceptionCheck()) env->Throw(static_cast<jthrowable>(exception));
}

}  // namespace
%}

%exception {
  try {
    $action
  } catch (const halftone_bindings::StatusError& error) {
    raise(jenv, error);
    return $null;
  }
}

%include "enums.swg"
%javaconst(1);

/* -DSWIGWORDSIZE64 makes int64_t a long, which SWIG treats as 32 bits here. */
%apply long long { int64_t };

%rename("%(lowercamelcase)s", %$isfunction) "";

%pragma(java) jniclasscode=%{
  static {
    System.loadLibrary("halftone_java");
  }
%}

%typemap(javainterfaces) SWIGTYPE "AutoCloseable"
%typemap(javafinalize) SWIGTYPE ""
%typemap(javabody) SWIGTYPE %{
  private final long swigCPtr;
  private final java.lang.ref.Cleaner.Cleanable reference;

  $javaclassname(long address, boolean owned) {
    swigCPtr = address;
    reference = Reclaimer.register(this, owned ? () -> $imclassname.delete_$javaclassname(address) : () -> {});
  }

  static long getCPtr($javaclassname object) {
    return object == null ? 0 : object.swigCPtr;
  }
%}
/* A closed proxy keeps its handle. The library never reuses a handle's value, so it returns INVALID_HANDLE. */
%typemap(javadestruct, methodname = "close", methodmodifiers = "@Override public", parameters = "") SWIGTYPE {
    reference.clean();
  }

/* If ndim exceeds the limit, the sizes are not copied: the library rejects ndim before it reads them. */
%typemap(jni) (const int64_t* shape, int32_t ndim) "jlongArray"
%typemap(jtype) (const int64_t* shape, int32_t ndim) "long[]"
%typemap(jstype) (const int64_t* shape, int32_t ndim) "long..."
%typemap(javain) (const int64_t* shape, int32_t ndim) "java.util.Objects.requireNonNull($javainput)"
%typemap(in) (const int64_t* shape, int32_t ndim) (jlong copy[HTONE_MAX_NDIM]) {
  $2 = jenv->GetArrayLength($input);
  jenv->GetLongArrayRegion($input, 0, $2 < HTONE_MAX_NDIM ? $2 : HTONE_MAX_NDIM, copy);
  $1 = reinterpret_cast<int64_t*>(copy);
}

/* Passes the buffer from its position to its limit. The slice that FloatBuffers makes is an argument, so it stays
 * reachable. */
%typemap(jni) (float* values, int64_t count) "jobject"
%typemap(jtype) (float* values, int64_t count) "java.nio.FloatBuffer"
%typemap(jstype) (float* values, int64_t count) "java.nio.FloatBuffer"
%typemap(javain) (float* values, int64_t count) "FloatBuffers.remaining($javainput)"
%typemap(in) (float* values, int64_t count) {
  $1 = static_cast<float*>(jenv->GetDirectBufferAddress($input));
  $2 = jenv->GetDirectBufferCapacity($input);
}

%typemap(jni) int64_t* sizes "jlongArray"
%typemap(jtype) int64_t* sizes "long[]"
%typemap(jstype) int64_t* sizes "long[]"
%typemap(javain) int64_t* sizes "$javainput"
%typemap(in) int64_t* sizes (jlong copy[HTONE_MAX_NDIM]) "$1 = reinterpret_cast<int64_t*>(copy);"
%typemap(argout) int64_t* sizes "jenv->SetLongArrayRegion($input, 0, result, copy$argnum);"

%javamethodmodifiers Tensor::shape "private"
%typemap(javaimports) Tensor "import java.nio.FloatBuffer;"
%typemap(javacode) Tensor %{
  /** The sizes of the dimensions. */
  public long[] shape() {
    long[] sizes = new long[MAX_NDIM];
    return java.util.Arrays.copyOf(sizes, shape(sizes));
  }

  /** All elements as floats, in a new array. */
  public float[] read() {
    FloatBuffer values = FloatBuffers.allocate(numel());
    read(values);
    float[] copy = new float[values.remaining()];
    values.get(copy);
    return copy;
  }

  private static final int MAX_NDIM = 8;
%}
