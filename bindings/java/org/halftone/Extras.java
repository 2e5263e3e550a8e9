package org.halftone;

import java.lang.ref.Reference;

/** The functions of {@link Halftone} that the C API gives in another form. */
abstract class Extras {
  Extras() {}

  /** Counts the objects of the library that are alive in this process. */
  public static long liveHandles() {
    return NativeJNI.live_handles();
  }

  /** Takes an object out of the innermost {@link Scope} and returns it: it lives on until it is closed or collected. */
  public static <T extends NativeObject> T keep(T object) {
    NativeJNI.keep_handle(NativeObject.handle(object));
    Reference.reachabilityFence(object);
    return object;
  }

  /**
   * Begins a scope in which operations compute in a low-precision dtype where that is safe.
   *
   * @param dtype BF16 or F16; in a scope of F32 nothing is cast.
   * @return the scope; end it on this thread.
   */
  public static Scope autocast(Dtype dtype) {
    try (var policy = new AutocastPolicy(dtype)) {
      return Halftone.autocast(policy);
    }
  }
}
