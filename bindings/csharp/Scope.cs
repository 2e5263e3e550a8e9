using System;
using System.Threading;

namespace Halftone {

public sealed partial class Scope {
  private int isEnded;
  private int isLeftBehind;

  /// <summary>
  /// Begins a scope that releases at its end every object that this thread made inside, but those passed to Ops.Keep:
  /// <c>using (Scope.Begin()) model.Forward(images).Backward();</c>
  /// </summary>
  public static Scope Begin() { return Ops.Scope(); }

  /// <summary>
  /// Ends the scope, on the thread that began it; a second call does nothing. On another thread, or before the scopes
  /// inside have ended, this is an exception; then the scope's own thread ends it as soon as it can. A scope ends where
  /// its thread goes on with other work, and this method throws an exception that says so: at an await that waits,
  /// since the scope cannot follow its block to another thread, or in a wait for a task that the thread then runs
  /// itself, if the task was made outside the scope.
  /// </summary>
  public override void Dispose() {
    if (Interlocked.Exchange(ref isEnded, 1) != 0) {
      if (Interlocked.Exchange(ref isLeftBehind, 0) == 0) return;
      throw new HalftoneException(
          Status.State, "Scope.Dispose: the scope ended inside its block, where its thread went on with other work: " +
          "at an await, or by running a task that was made outside; end it before and begin another after");
    }
    ThreadScopes.Ended(this);
    GC.SuppressFinalize(this);
    try {
      End();
    } catch (HalftoneException refused) when (refused.Status == Status.State) {
      EndLater();
      throw;
    }
  }

  internal bool IsEnded => Volatile.Read(ref isEnded) != 0;

  /// <summary>Ends the scope on its thread, whose code has begun other work. The next Dispose tells it.</summary>
  internal void LeaveBehind() {
    if (Interlocked.Exchange(ref isEnded, 1) != 0) return;
    try {
      EndLater();
      isLeftBehind = 1;
    } catch (HalftoneException) {
      // End was called, or a callback has ended.
    }
  }
}

}
