using System;

namespace Halftone {

/// <summary>
/// Releases a handle when the object that has it is collected. The object itself has no finalizer: to register one, and
/// to take it back at Dispose, costs more than many a call of the library. A guard that is no longer needed is used
/// again, by the thread that has released it.
/// </summary>
sealed class HandleGuard {
  private const int Most = 64;

  [ThreadStatic] private static HandleGuard spare;

  private IntPtr handle;  // zero while the guard is spare
  private Action<IntPtr> release;
  private HandleGuard next;
  private int spares;  // from this one on

  private HandleGuard() {}

  /// <summary>Runs when nothing refers to the object any more.</summary>
  ~HandleGuard() {
    if (handle != IntPtr.Zero) release(handle);
  }

  internal static HandleGuard Of(IntPtr handle, Action<IntPtr> release) {
    var guard = spare;
    if (guard == null) {
      guard = new HandleGuard();
    } else {
      spare = guard.next;
      guard.next = null;
    }
    guard.release = release;
    guard.handle = handle;
    return guard;
  }

  /// <summary>Releases the handle now. The caller must not use the guard again.</summary>
  internal void Release() {
    var released = handle;
    handle = IntPtr.Zero;
    release(released);
    spares = spare == null ? 1 : spare.spares + 1;
    if (spares > Most) return;
    next = spare;
    spare = this;
  }
}

}
