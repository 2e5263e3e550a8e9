using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>A scope of a mode. On each thread whose code is inside of it, a scope of the library is open.</summary>
sealed class ModeScope : FlowScope {
  private readonly Func<IntPtr> begin;
  private readonly NativeObject held;
  private readonly List<IntPtr> begun = new List<IntPtr>();  // guarded by itself; other threads end the scope, too

  /// <summary>`begin` begins a scope of the library on the calling thread, with `held`, which this owns.</summary>
  private ModeScope(FlowScope outer, Func<IntPtr> begin, NativeObject held) : base(outer) {
    this.begin = begin;
    this.held = held;
  }

  /// <summary>After the end of a thread its scopes may be ended anywhere.</summary>
  ~ModeScope() { EndElsewhere(); }

  internal static Scope Begin(Func<IntPtr> begin, NativeObject held = null) {
    return ScopeFlow.Begin(outer => new ModeScope(outer, begin, held));
  }

  /// <summary>Begins the mode on this thread; zero if the scope has ended meanwhile.</summary>
  internal IntPtr BeginHere() {
    lock (begun) {
      if (IsEnded) return IntPtr.Zero;
      var scope = begin();
      Failure.Check();
      begun.Add(scope);
      return scope;
    }
  }

  /// <summary>Ends the mode on this thread, where it is the innermost.</summary>
  internal void EndHere(IntPtr scope) {
    lock (begun) begun.Remove(scope);
    NativePINVOKE.Scope_end(new HandleRef(null, scope));
    try {
      Failure.Check();
    } catch (InvalidHandleException) {
      // The library has ended it, since another thread has ended this object.
    }
  }

  internal override void End() {
    ScopeFlow.Left();
    EndElsewhere();
    held?.Dispose();
  }

  // The threads that are inside end the mode at their next call of the library.
  private void EndElsewhere() {
    IntPtr[] left;
    lock (begun) {
      if (begun.Count == 0) return;
      left = Enumerable.Reverse(begun).ToArray();
      begun.Clear();
    }
    foreach (var scope in left) {
      NativePINVOKE.Scope_end_later(new HandleRef(null, scope));
      try {
        Failure.Check();
      } catch (InvalidHandleException) {
        // Its thread has ended it.
      }
    }
  }
}

}
