// Java's arrays as the C++ types of shim.h, and the reverse. A function that fails inside the JVM leaves Java's
// exception pending.
#ifndef HALFTONE_BINDINGS_JAVA_CONVERSIONS_H
#define HALFTONE_BINDINGS_JAVA_CONVERSIONS_H

#include <jni.h>
#include <string.h>

#include "packed.h"
#include "returned_tensors.h"

namespace ht {

inline jbyteArray to_bytes(JNIEnv* env, const char* data, size_t size) {
  jbyteArray array = env->NewByteArray(jsize(size));
  if (array != nullptr) env->SetByteArrayRegion(array, 0, jsize(size), reinterpret_cast<const jbyte*>(data));
  return array;
}

// Throws the exception of a status, or that of the callback which has this native code. The message is passed as bytes:
// it may quote a name from the caller, and NewStringUTF requires modified UTF-8.
inline void raise(JNIEnv* env, int status, const char* text, const char* argument_text, int native_code) {
  jclass type = env->FindClass("org/halftone/Failures");
  if (type == nullptr) return;
  jmethodID of = env->GetStaticMethodID(type, "of", "(I[B[BI)Ljava/lang/Throwable;");
  if (of == nullptr) return;
  jbyteArray message = to_bytes(env, text, strlen(text));
  if (message == nullptr) return;
  jbyteArray argument = to_bytes(env, argument_text, strlen(argument_text));
  if (argument == nullptr) return;
  jobject exception = env->CallStaticObjectMethod(type, of, jint(status), message, argument, jint(native_code));
  if (!env->ExceptionCheck()) env->Throw(static_cast<jthrowable>(exception));
}

// Null is an empty array; the classes of the language refuse it where an array is needed.
inline Integers to_integers(JNIEnv* env, jlongArray array) {
  if (array == nullptr) return {};
  Integers integers(size_t(env->GetArrayLength(array)));
  env->GetLongArrayRegion(array, 0, jsize(integers.size()), reinterpret_cast<jlong*>(integers.data()));
  return integers;
}

inline jlongArray from_integers(JNIEnv* env, const Integers& integers) {
  jlongArray array = env->NewLongArray(jsize(integers.size()));
  if (array == nullptr) return nullptr;
  env->SetLongArrayRegion(array, 0, jsize(integers.size()), reinterpret_cast<const jlong*>(integers.data()));
  return array;
}

template <class Handles>
Handles to_handles(JNIEnv* env, jlongArray array) {
  Handles handles;
  for (int64_t handle : to_integers(env, array)) {
    handles.push_back(reinterpret_cast<typename Handles::value_type>(intptr_t(handle)));
  }
  return handles;
}

template <class Handles>
jlongArray from_handles(JNIEnv* env, const Handles& handles) {
  Integers integers;
  for (auto* handle : handles) {
    count_returned(handle);
    integers.push_back(int64_t(reinterpret_cast<intptr_t>(handle)));
  }
  return from_integers(env, integers);
}

inline std::string to_text(JNIEnv* env, jbyteArray array) {
  std::string text(size_t(env->GetArrayLength(array)), '\0');
  env->GetByteArrayRegion(array, 0, jsize(text.size()), reinterpret_cast<jbyte*>(text.data()));
  return text;
}

inline Texts to_texts(JNIEnv* env, jobjectArray array) {
  Texts texts;
  for (jsize i = 0; i < env->GetArrayLength(array); ++i) {
    auto element = static_cast<jbyteArray>(env->GetObjectArrayElement(array, i));
    texts.push_back(to_text(env, element));
    env->DeleteLocalRef(element);
  }
  return texts;
}

// An array of Java's numbers. While it is open no garbage is collected, so the code in between must not wait long.
class Numbers {
 public:
  Numbers(JNIEnv* env, jobject array) : env_(env), array_(static_cast<jarray>(array)) {}
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  // Calls `use` with the address and the number of elements, and copies the elements back.
  template <class Use>
  void with(Use use) const {
    const size_t count = size_t(env_->GetArrayLength(array_));
    const Opened opened(env_, array_);
    use(opened.data, count);
  }

 private:
  struct Opened {
    Opened(JNIEnv* env, jarray array) : env(env), array(array), data(env->GetPrimitiveArrayCritical(array, nullptr)) {
      if (data == nullptr) throw std::bad_alloc();
    }
    ~Opened() { env->ReleasePrimitiveArrayCritical(array, data, 0); }
    JNIEnv* env;
    jarray array;
    void* data;
  };

  JNIEnv* env_;
  jarray array_;
};

// The environment of this thread, which may be a thread of the library's: then it is one of Java's in between.
class AttachedThread {
 public:
  explicit AttachedThread(JavaVM* machine) : machine_(machine) {
    if (machine_->GetEnv(reinterpret_cast<void**>(&env_), JNI_VERSION_1_8) == JNI_OK) return;
    is_attached_ = machine_->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env_), nullptr) == JNI_OK;
    if (!is_attached_) env_ = nullptr;
  }
  AttachedThread(const AttachedThread&) = delete;
  AttachedThread& operator=(const AttachedThread&) = delete;
  ~AttachedThread() {
    if (is_attached_) machine_->DetachCurrentThread();
  }
  JNIEnv* env() const { return env_; }  // NULL if the machine ends

 private:
  JavaVM* machine_;
  JNIEnv* env_ = nullptr;
  bool is_attached_ = false;
};

// An object of Java, kept reachable from native code. It may be dropped on any thread.
class KeptObject {
 public:
  KeptObject(JNIEnv* env, jobject object) : reference_(env->NewGlobalRef(object)) { env->GetJavaVM(&machine_); }
  KeptObject(const KeptObject&) = delete;
  KeptObject& operator=(const KeptObject&) = delete;
  ~KeptObject() {
    const AttachedThread thread(machine_);
    if (thread.env() != nullptr) thread.env()->DeleteGlobalRef(reference_);
  }
  jobject get() const { return reference_; }
  JavaVM* machine() const { return machine_; }

 private:
  jobject reference_;
  JavaVM* machine_ = nullptr;
};

// A direct buffer as an argument.
struct DirectBuffer {
  JNIEnv* env;
  jobject object;
  void* data() const { return env->GetDirectBufferAddress(object); }
};

}  // namespace ht

#endif
