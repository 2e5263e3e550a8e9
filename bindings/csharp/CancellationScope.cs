using System.Threading;

namespace Halftone {

/// <summary>
/// A scope whose calls end when a token is cancelled. While such a scope is open, the library asks each call that makes
/// a tensor or waits; it asks none while no token of an open scope is cancelled.
/// </summary>
sealed class CancellationScope : FlowScope {
  private static readonly object setting = new object();
  private static bool isSet;

  private readonly CancellationToken token;
  private readonly CancellationTokenRegistration registration;
  private int isCounted;

  private CancellationScope(FlowScope outer, CancellationToken token) : base(outer) {
    this.token = token;
    registration = token.Register(Count);
  }

  internal static Scope Begin(CancellationToken token) {
    lock (setting) {
      if (!isSet) NativePINVOKE.decide_interrupts(CallbackCall.Handle(Decide));
      Failure.Check();
      isSet = true;
    }
    return ScopeFlow.Begin(outer => new CancellationScope(outer, token));
  }

  internal override void End() {
    registration.Dispose();  // waits until Count does not run
    if (isCounted != 0) NativePINVOKE.count_interrupts(-1);
    ScopeFlow.Left();
  }

  private void Count() {
    if (Interlocked.Exchange(ref isCounted, 1) == 0) NativePINVOKE.count_interrupts(1);
  }

  // The library calls this on the thread of each call while a token of an open scope is cancelled.
  private static void Decide(CallbackCall call) {
    for (var scope = ScopeFlow.Current; scope != null; scope = scope.Outer) {
      if (scope is CancellationScope one && !one.IsEnded) one.token.ThrowIfCancellationRequested();
    }
  }
}

}
