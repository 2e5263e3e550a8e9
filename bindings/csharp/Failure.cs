using System;

namespace Halftone {

/// <summary>Carries a failure from native code, which must not be unwound, to the method that called it.</summary>
static class Failure {
  internal delegate void Raise(int status, IntPtr message);

  // Native code keeps the delegate for ever, so the garbage collector must not collect it.
  internal static readonly Raise raise = (status, message) => pending = HalftoneException.Of(status, message);

  [ThreadStatic] private static Exception pending;

  /// <summary>Throws the exception of the last call, if it has failed.</summary>
  internal static void Check() {
    if (pending != null) Throw();
  }

  private static void Throw() {
    var thrown = pending;
    pending = null;
    throw thrown;
  }
}

}
