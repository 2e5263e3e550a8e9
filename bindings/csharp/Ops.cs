using System;

namespace Halftone {

public static partial class Ops {
  /// <summary>Counts the objects of the library that are alive in this process.</summary>
  public static long LiveHandles() {
    long count = NativePINVOKE.live_handles();
    Failure.Check();
    return count;
  }

  /// <summary>
  /// Takes an object out of the innermost Scope and returns it: it lives on until it is disposed of or collected.
  /// </summary>
  public static T Keep<T>(T one) where T : NativeObject {
    NativePINVOKE.keep_handle(NativeObject.Reference(one));
    Failure.Check();
    return one;
  }

  /// <summary>
  /// Begins a scope in which operations compute in BF16 or F16 where that is safe; in a scope of F32 nothing is cast.
  /// </summary>
  public static Scope Autocast(Dtype dtype) {
    using (var policy = new AutocastPolicy(dtype)) return Autocast(policy);
  }
}

}
