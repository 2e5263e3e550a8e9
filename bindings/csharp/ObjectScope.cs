using System;
using System.Collections.Generic;

namespace Halftone {

/// <summary>
/// A scope that owns the objects that were made inside, on any thread. It keeps their handles and not the objects, so
/// that those that the program drops are collected earlier: a handle that was released meanwhile never becomes that of
/// another object.
/// </summary>
sealed class ObjectScope : FlowScope {
  private struct Given {
    internal IntPtr Handle;
    internal Action<IntPtr> Release;  // null: the scope no longer owns it
  }

  private readonly object changing = new object();
  private List<Given> given = new List<Given>();  // null after the end

  internal ObjectScope(FlowScope outer) : base(outer) {}

  /// <summary>The innermost scope that owns objects; null: none.</summary>
  internal static ObjectScope Innermost(FlowScope scope) {
    while (scope != null && (scope.IsEnded || !(scope is ObjectScope))) scope = scope.Outer;
    return (ObjectScope)scope;
  }

  /// <summary>Becomes the owner of an object, which gets a place here. Returns false if this scope has ended.</summary>
  internal bool Take(IntPtr handle, Action<IntPtr> release, out int place) {
    lock (changing) {
      place = given?.Count ?? 0;
      given?.Add(new Given {Handle = handle, Release = release});
      return given != null;
    }
  }

  /// <summary>The object at a place is no longer this scope's.</summary>
  internal void Forget(int place) {
    lock (changing) {
      if (given == null) return;
      given[place] = new Given();
      while (given.Count > 0 && given[given.Count - 1].Release == null) given.RemoveAt(given.Count - 1);
    }
  }

  internal override void End() {
    List<Given> mine;
    lock (changing) {
      mine = given;
      given = null;
    }
    ScopeFlow.Left();
    for (int i = mine.Count - 1; i >= 0; --i) mine[i].Release?.Invoke(mine[i].Handle);
  }
}

}
