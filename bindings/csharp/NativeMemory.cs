using System;
using System.Threading;

namespace Halftone {

/// <summary>
/// Collects garbage when tensors that are no longer used may hold much native memory, which the collector does not
/// see. The wrapper counts the bytes of new tensors. After each Step the library is asked for the bytes in use. Above
/// the limit a collection runs, and the next limit is twice what is left in use then. A program that disposes of its
/// tensors, or makes them in scopes, never comes to it. (GC.AddMemoryPressure does not see what a scope releases, and
/// Mono's collector need not heed it.)
/// </summary>
static unsafe class NativeMemory {
  private const long Step = 16L << 20;
  private const long LeastLimit = 64L << 20;

  private static readonly object checking = new object();
  private static readonly long* made = (long*)NativePINVOKE.made_bytes();  // read where it is: a call costs more
  private static long next = Step;
  private static long limit = LeastLimit;

  /// <summary>Called for each new tensor.</summary>
  internal static void Made(Tensor tensor) {
    long seen = Volatile.Read(ref next);
    if (Volatile.Read(ref *made) < seen || Interlocked.CompareExchange(ref next, *made + Step, seen) != seen) return;
    lock (checking) Check(tensor);
  }

  private static void Check(Tensor tensor) {
    if (InUse(tensor) < limit) return;
    GC.Collect();
    GC.WaitForPendingFinalizers();
    limit = Math.Max(LeastLimit, 2 * InUse(tensor));
  }

  private static long InUse(Tensor tensor) {
    long bytes = NativePINVOKE.bytes_in_use(NativeObject.Reference(tensor));
    Failure.Check();
    return bytes;
  }
}

}
