using System;
using System.Threading;

namespace Halftone {

public static partial class Ops {
  /// <summary>Counts the objects of the library that are alive in this process.</summary>
  public static long LiveHandles() {
    long count = NativePINVOKE.live_handles();
    Failure.Check();
    return count;
  }

  /// <summary>
  /// Takes an object out of the innermost scope of Scope.Begin and returns it: the scope around that owns it, or it
  /// lives on until it is disposed of or collected.
  /// </summary>
  public static T Keep<T>(T one) where T : NativeObject {
    GC.KeepAlive(Packer.Required(one, nameof(one)).Handle);
    one.Keep();
    return one;
  }

  /// <summary>
  /// Begins a scope in which a call that computes or waits ends when the token is cancelled: it throws an
  /// OperationCanceledException of the token. One kernel runs to its end. Weights are then updated whole or not at all.
  /// </summary>
  /// <param name="token">cancelled by any thread.</param>
  /// <remarks>C: htone_interrupt_set_callback, which a program must not call beside this.</remarks>
  public static Scope Cancellation(CancellationToken token) { return CancellationScope.Begin(token); }

  /// <summary>
  /// Begins a scope in which operations compute in BF16 or F16 where that is safe; in a scope of F32 nothing is cast.
  /// </summary>
  public static Scope Autocast(Dtype dtype) {
    using (var policy = new AutocastPolicy(dtype)) return Autocast(policy);
  }

  /// <summary>Begins a scope in which operations cast their operands as the policy says.</summary>
  /// <param name="policy">stays in use until the end of the scope.</param>
  /// <remarks>C: htone_autocast_begin</remarks>
  public static Scope Autocast(AutocastPolicy policy) {
    var held = Packer.Required(policy, nameof(policy)).Share();
    return ModeScope.Begin(() => NativePINVOKE.Ops_autocast_begin(NativeObject.Reference(held)), held);
  }
}

public sealed partial class AutocastPolicy {
  /// <summary>Another object with a reference to this policy.</summary>
  internal AutocastPolicy Share() {
    var own = Own(NativePINVOKE.retain_autocast_policy(Reference(this)));
    Failure.Check();
    own.LeaveScope();
    return own;
  }
}

}
