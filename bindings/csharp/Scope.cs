using System;
using System.Threading;

namespace Halftone {

/// <summary>
/// A part of the program in which a mode acts, or which owns the objects that it makes:
/// <c>using (Ops.NoGrad()) await Evaluate(model);</c>
/// A scope belongs to the code inside, not to a thread. It goes along where an await continues on another thread, and
/// does not act on the thread that the await has left. Tasks and threads that are started inside are inside, too: the
/// program must wait for them before the end.
/// </summary>
public abstract class Scope : IDisposable {
  private int isEnded;

  internal Scope() {}

  /// <summary>
  /// Begins a scope that releases at its end every object that was made inside, but those passed to Ops.Keep:
  /// <c>using (Scope.Begin()) model.Forward(images).Backward();</c>
  /// </summary>
  public static Scope Begin() { return ScopeFlow.Begin(outer => new ObjectScope(outer)); }

  internal bool IsEnded => Volatile.Read(ref isEnded) != 0;

  /// <summary>
  /// Ends the scope, on any thread and in any order; a second call does nothing. A thread that still runs inside leaves
  /// the mode at its next call of the library or its next await. A callback cannot end a scope around the call that
  /// runs it: that is an exception with Status.State, and the scope stays open. Code that is not inside, such as the
  /// caller of an async method that returns a scope, ends the scope and gets that exception, too: the scope has not
  /// acted there.
  /// </summary>
  public void Dispose() {
    if (IsEnded) return;
    ScopeFlow.RequireEndable(this);
    bool isInside = ScopeFlow.IsInside(this);
    if (Interlocked.Exchange(ref isEnded, 1) != 0) return;
    End();
    GC.SuppressFinalize(this);
    if (isInside) return;
    throw new HalftoneException(Status.State, "Scope.Dispose: the scope has ended, but this code was not inside: a " +
                                "scope that an async method or a callback begins acts there alone");
  }

  internal abstract void End();
}

}
