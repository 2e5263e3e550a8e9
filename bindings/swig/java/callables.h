// Java's functions as callbacks of the library (callbacks.h).
#ifndef HALFTONE_BINDINGS_JAVA_CALLABLES_H
#define HALFTONE_BINDINGS_JAVA_CALLABLES_H

#include "conversions.h"
#include "frames.h"
#include "packed_calls.h"

namespace ht {

// org.halftone.CallbackCall.run, found while Java's classes are at hand: a thread of the library cannot find them.
struct JavaRunner {
  explicit JavaRunner(JNIEnv* env) {
    jclass found = env->FindClass("org/halftone/CallbackCall");
    if (found == nullptr) return;
    type = static_cast<jclass>(env->NewGlobalRef(found));
    run = env->GetStaticMethodID(found, "run", "(Lorg/halftone/Callback;[BJ)I");
    env->DeleteLocalRef(found);
  }
  jclass type = nullptr;
  jmethodID run = nullptr;
};

inline const JavaRunner& java_runner(JNIEnv* env) {
  static const JavaRunner runner(env);
  return runner;
}

class JavaCallable final : public Callable {
 public:
  JavaCallable(JNIEnv* env, jobject function) : function_(env, function), runner_(java_runner(env)) {}

  htone_status call(const std::vector<Argument>& arguments, Result* result) noexcept override {
    const AttachedThread thread(function_.machine());
    htone_status status = HTONE_ERROR_STATE;  // the machine ends
    if (thread.env() != nullptr) status = run(thread.env(), arguments, result);
    if (status != HTONE_OK) release_references(result);
    return status;
  }

 private:
  // A thread of the library has no frame of Java's to whose end local references would live.
  htone_status run(JNIEnv* env, const std::vector<Argument>& arguments, Result* result) const noexcept {
    if (env->PushLocalFrame(4) != 0) {
      env->ExceptionClear();
      return HTONE_ERROR_OUT_OF_MEMORY;
    }
    jint status = HTONE_ERROR_CALLBACK;
    try {
      const std::string packed = pack_call(arguments, *result);
      if (jbyteArray bytes = to_bytes(env, packed.data(), packed.size())) {
        const NativeFrame frame;
        status = env->CallStaticIntMethod(runner_.type, runner_.run, function_.get(), bytes, jlong(number_of(result)));
      }
    } catch (const std::bad_alloc&) {
      status = HTONE_ERROR_OUT_OF_MEMORY;
    }
    if (env->ExceptionCheck()) {  // Java has no memory or stack left to keep it
      env->ExceptionClear();
      status = HTONE_ERROR_CALLBACK;
    }
    env->PopLocalFrame(nullptr);
    return htone_status(status);
  }

  KeptObject function_;
  const JavaRunner& runner_;
};

// Null is no function; the library refuses it where it needs one.
inline Callback to_callback(JNIEnv* env, jobject function) {
  return function == nullptr ? nullptr : std::make_unique<JavaCallable>(env, function);
}

}  // namespace ht

#endif
