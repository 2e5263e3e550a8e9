using System;
using System.Threading;

namespace Halftone {

/// <summary>
/// The scopes around the code that runs. The runtime carries them from thread to thread with its ExecutionContext, and
/// reports when a thread goes on with other code; then the thread gets the modes of that code. So calls of the library
/// need not look for scopes. A task that is started inside has the same scopes, since the runtime does not tell it from
/// the code after an await.
/// </summary>
static class ScopeFlow {
  private static readonly AsyncLocal<FlowScope> around = new AsyncLocal<FlowScope>(Changed);

  [ThreadStatic] private static FlowScope current;  // what `around` has, without the cost of reading that
  [ThreadStatic] private static ThreadModes modes;  // null: none was begun on this thread

  /// <summary>The innermost scope around the code of this thread; it may have ended.</summary>
  internal static FlowScope Current => current;

  private static ThreadModes Modes => modes ?? (modes = new ThreadModes());

  internal static Scope Begin(Func<FlowScope, FlowScope> make) {
    var begun = make(FlowScope.Open(around.Value, modes?.Base));
    Become(begun);
    try {
      Modes.Enter(begun);
    } catch {
      begun.Dispose();
      throw;
    }
    return begun;
  }

  /// <summary>Takes ended scopes from the code of this thread.</summary>
  internal static void Left() {
    Become(FlowScope.Open(around.Value, modes?.Base));
    modes?.Enter(current);
  }

  /// <summary>True if the scope is around the code of this thread; the state of an object is around none.</summary>
  internal static bool IsInside(Scope scope) { return !(scope is FlowScope flow) || flow.IsAround(around.Value); }

  /// <summary>Throws inside a callback if the scope was begun before it.</summary>
  internal static void RequireEndable(Scope scope) {
    if (modes?.Base == null || !(scope is FlowScope flow) || !flow.IsAround(modes.Base)) return;
    throw new HalftoneException(Status.State, "Scope.Dispose: the scope was begun before the callback that is under " +
                                "way on this thread; end it afterwards");
  }

  /// <summary>Called before a callback, whose own modes add to those of the call.</summary>
  internal static FlowScope EnterCallback() {
    Modes.EnterCallback(current);
    return current;
  }

  /// <summary>Ends what the callback has not. No exception may leave it.</summary>
  internal static void LeaveCallback(FlowScope outside) {
    Become(outside);
    try {
      modes.LeaveCallback(outside);
    } catch (HalftoneException failed) {
      Failure.Postpone(failed);
    }
  }

  private static void Become(FlowScope innermost) {
    if (around.Value != innermost) around.Value = innermost;
    current = innermost;
  }

  // Called when this thread begins other code, among others. No exception may leave it: the next call throws it.
  private static void Changed(AsyncLocalValueChangedArgs<FlowScope> change) {
    if (!change.ThreadContextChanged) return;
    current = change.CurrentValue;
    if (modes == null && current == null) return;
    try {
      Modes.Enter(current);
    } catch (HalftoneException failed) {
      Failure.Postpone(failed);
    }
  }
}

}
