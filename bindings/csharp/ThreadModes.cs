using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>
/// The modes that are in force on one thread. The library keeps modes for each thread, as a stack of scopes; code that
/// goes on in another thread begins its modes again there. Used by its thread alone.
/// </summary>
sealed class ThreadModes {
  private struct Begun {
    internal ModeScope Mode;
    internal IntPtr Scope;
  }

  // The modes that can be ended now. A callback cannot end those from before it, so it has a level of its own. If code
  // that is not inside of those runs there, such as a task that the callback waits for, it runs in a stack of the
  // library's, whose modes are independent of the thread's.
  private sealed class Level {
    internal readonly List<Begun> Begun = new List<Begun>();
    internal readonly FlowScope Base;  // the innermost scope outside of the level; null: none
    internal readonly IntPtr Stack;
    internal readonly Level Outer;

    internal Level(FlowScope innermost, IntPtr stack, Level outer) {
      Base = innermost;
      Stack = stack;
      Outer = outer;
    }
  }

  private Level level = new Level(null, IntPtr.Zero, null);

  /// <summary>The innermost scope from before the callback that is under way; null: none.</summary>
  internal FlowScope Base => level.Base;

  internal void EnterCallback(FlowScope innermost) { level = new Level(innermost, IntPtr.Zero, level); }

  internal void LeaveCallback(FlowScope outside) {
    try {
      Enter(outside);
    } finally {
      level = level.Outer;
    }
  }

  /// <summary>Puts the modes of code in force.</summary>
  internal void Enter(FlowScope innermost) {
    while (level.Stack != IntPtr.Zero) LeaveStack();
    if (level.Base != null && !level.Base.IsAround(innermost)) EnterStack();
    var wanted = Wanted(innermost);
    int same = 0;
    while (same < level.Begun.Count && same < wanted.Count && level.Begun[same].Mode == wanted[same]) ++same;
    EndAllBut(same);
    for (; same < wanted.Count; ++same) {
      var scope = wanted[same].BeginHere();
      if (scope != IntPtr.Zero) level.Begun.Add(new Begun {Mode = wanted[same], Scope = scope});
    }
  }

  // The outermost is the first.
  private List<ModeScope> Wanted(FlowScope innermost) {
    var wanted = new List<ModeScope>();
    for (var scope = innermost; scope != level.Base; scope = scope.Outer) {
      if (scope is ModeScope mode && !mode.IsEnded) wanted.Add(mode);
    }
    wanted.Reverse();
    return wanted;
  }

  private void EndAllBut(int count) {
    for (int i = level.Begun.Count - 1; i >= count; --i) {
      var one = level.Begun[i];
      level.Begun.RemoveAt(i);
      one.Mode.EndHere(one.Scope);
    }
  }

  private void EnterStack() {
    var stack = NativePINVOKE.ScopeStack_create();
    Failure.Check();
    NativePINVOKE.ScopeStack_enter(new HandleRef(null, stack));
    Failure.Check();
    level = new Level(null, stack, level);
  }

  private void LeaveStack() {
    var left = level;
    EndAllBut(0);
    level = left.Outer;
    NativePINVOKE.ScopeStack_leave(new HandleRef(null, left.Stack));
    Failure.Check();
    NativePINVOKE.ScopeStack_release(new HandleRef(null, left.Stack));
  }
}

}
