package org.halftone;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.Callable;

/**
 * A frame of native code below a program's code. The library keeps scopes for a thread of the system, and a virtual
 * thread may change that thread wherever it waits, but not above a native frame: there a wait keeps the thread. So each
 * scope of a virtual thread needs such a frame. Callbacks have one, since the library calls them.
 */
final class NativeFrame {
  private static final MethodHandle IS_VIRTUAL = isVirtual();

  private NativeFrame() {}

  /** Runs the body above a native frame; what it throws arrives as itself, although no exception is declared. */
  @SuppressWarnings("unchecked")
  static <T> T call(Callable<T> body) {
    return (T) NativeJNI.call_in_frame(body);
  }

  /** Called before a scope begins: it must end on this thread of the system. */
  static void requireForScope() {
    if (!isOnVirtualThread() || NativeJNI.is_in_frame()) return;
    throw new HalftoneException(Status.STATE,
        "Scope: a scope belongs to a thread of the system, which a virtual thread may change wherever it waits; begin "
            + "it inside of ScopeStack.run or ScopeStack.call",
        null);
  }

  private static boolean isOnVirtualThread() {
    try {
      return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
  }

  /** Returns Thread.isVirtual of Java 21; null in a Java that has no virtual threads. */
  private static MethodHandle isVirtual() {
    try {
      return MethodHandles.publicLookup().findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
    } catch (NoSuchMethodException | IllegalAccessException older) {
      return null;
    }
  }
}
