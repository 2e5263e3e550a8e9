using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.ExceptionServices;
using System.Threading;

namespace Halftone {

/// <summary>
/// Carries a failure from native code, which must not be unwound, to the method that called it.
///
/// Exceptions of callbacks wait here, by number, until the failed call of the library arrives. The number is the
/// callback's status, and the native code of the failed call; it is above every other native code. A failing call may
/// run callbacks while it ends, and these may fail, too; so a thread may have several. One that the library has ignored
/// waits here until newer ones push it out.
/// </summary>
static class Failure {
  internal delegate void Raise(int status, IntPtr message, IntPtr argument, int nativeCode);

  private const int First = 0x40000000;
  private const int Last = 0x7FFFFFFE;
  private const int MostOfThread = 4;
  private const int Most = 64;

  private sealed class Stored {
    internal int Number;
    internal int Thread;
    internal ExceptionDispatchInfo Thrown;
  }

  // Native code keeps the delegate for ever, so the garbage collector must not collect it.
  internal static readonly Raise raise =
      (status, message, argument, nativeCode) => pending = Of(status, message, argument, nativeCode);

  // Captured exceptions are thrown with the stack of their first throw.
  [ThreadStatic] private static ExceptionDispatchInfo pending;

  private static readonly List<Stored> stored = new List<Stored>();  // oldest first
  private static int next = First;

  /// <summary>Throws the exception of the last call, if it has failed.</summary>
  internal static void Check() {
    if (pending != null) Throw();
  }

  /// <summary>Throws an exception at the next call of this thread, where it cannot be thrown now.</summary>
  internal static void Postpone(Exception thrown) { pending = pending ?? ExceptionDispatchInfo.Capture(thrown); }

  private static void Throw() {
    var thrown = pending;
    pending = null;
    thrown.Throw();
  }

  private static ExceptionDispatchInfo Of(int status, IntPtr message, IntPtr argument, int nativeCode) {
    lock (stored) {
      var own = Take(stored.Find(one => one.Number == nativeCode));
      if (own != null) return own;
      // The library may have put its own error in place of a callback's, such as one that names a rank.
      var cause = stored.Count == 0 ? null : Take(OfThread().FirstOrDefault());
      return ExceptionDispatchInfo.Capture(HalftoneException.Of(status, message, argument, cause?.SourceException));
    }
  }

  /// <summary>Keeps the exception of a callback; returns the status that the callback returns.</summary>
  internal static int Store(Exception thrown, bool mayTimeOut) {
    if (mayTimeOut && IsTimeout(thrown)) return (int)Status.Timeout;
    lock (stored) {
      foreach (var old in OfThread().Reverse().Skip(MostOfThread - 1).ToArray()) stored.Remove(old);
      if (stored.Count == Most) stored.RemoveAt(0);
      int number = next;
      next = number == Last ? First : number + 1;
      stored.Add(new Stored {Number = number, Thread = Thread.CurrentThread.ManagedThreadId,
                             Thrown = ExceptionDispatchInfo.Capture(thrown)});
      return number;
    }
  }

  private static bool IsTimeout(Exception thrown) {
    return thrown is TimeoutException || (thrown as HalftoneException)?.Status == Status.Timeout;
  }

  /// <summary>Newer ones of this thread are later failures of the same call.</summary>
  private static ExceptionDispatchInfo Take(Stored one) {
    if (one == null) return null;
    stored.Remove(one);
    foreach (var newer in OfThread().Where(other => other.Number > one.Number).ToArray()) stored.Remove(newer);
    return one.Thrown;
  }

  private static IEnumerable<Stored> OfThread() {
    int thread = Thread.CurrentThread.ManagedThreadId;
    return stored.Where(one => one.Thread == thread);
  }
}

}
