// Frames of native code below Java's code (NativeFrame.java): above one, a virtual thread stays on its thread.
#ifndef HALFTONE_BINDINGS_JAVA_FRAMES_H
#define HALFTONE_BINDINGS_JAVA_FRAMES_H

#include <jni.h>

namespace ht {

// Counts the frames of this thread of the system. A virtual thread above one does not leave the thread, so those that
// the thread has belong to the virtual thread that it runs.
class NativeFrame {
 public:
  NativeFrame() { ++count_; }
  NativeFrame(const NativeFrame&) = delete;
  NativeFrame& operator=(const NativeFrame&) = delete;
  ~NativeFrame() { --count_; }
  static bool is_below() { return count_ != 0; }

 private:
  static thread_local constinit inline int count_ = 0;
};

// A java.util.concurrent.Callable as an argument.
struct CallableBody {
  JNIEnv* env;
  jobject object;

  // Leaves the exception of the body pending.
  jobject call() const {
    static const jmethodID method = call_method(env);
    if (method == nullptr) return nullptr;
    const NativeFrame frame;
    return env->CallObjectMethod(object, method);
  }

 private:
  static jmethodID call_method(JNIEnv* env) {
    jclass type = env->FindClass("java/util/concurrent/Callable");
    return type == nullptr ? nullptr : env->GetMethodID(type, "call", "()Ljava/lang/Object;");
  }
};

}  // namespace ht

#endif
