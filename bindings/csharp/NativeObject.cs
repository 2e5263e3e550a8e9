using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Halftone {

/// <summary>Marks the constructors that take over a native handle.</summary>
enum Owned { Handle }

/// <summary>
/// An object of the library. It is released by Dispose, at the end of the Scope in which it was made, or some time
/// after it became unreachable. A use after Dispose is an ObjectDisposedException, and one after the end of the scope an
/// InvalidHandleException: the library never reuses the value of a handle.
/// </summary>
public abstract class NativeObject : IDisposable {
  private readonly IntPtr handle;
  private HandleGuard guard;  // null after Dispose
  private ObjectScope scope;  // that owns the object; null: none
  private int place;          // there

  internal NativeObject(IntPtr handle) {
    this.handle = handle;
    guard = HandleGuard.Of(handle, Release);
    if (ScopeFlow.Current != null) EnterScope(ScopeFlow.Current);
  }

  /// <summary>Releases the object now; a second call does nothing.</summary>
  public virtual void Dispose() {
    var mine = Interlocked.Exchange(ref guard, null);
    if (mine == null) return;
    LeaveScope();
    mine.Release();
  }

  /// <summary>Releases a handle of this class. The function must not refer to the object.</summary>
  internal abstract Action<IntPtr> Release { get; }

  /// <summary>Moves the object to the scope around the innermost one, if that owns it.</summary>
  internal void Keep() {
    var innermost = ObjectScope.Innermost(ScopeFlow.Current);
    if (innermost == null || scope != innermost) return;
    LeaveScope();
    EnterScope(innermost.Outer);
  }

  /// <summary>The object is no longer its scope's.</summary>
  internal void LeaveScope() { Interlocked.Exchange(ref scope, null)?.Forget(place); }

  private void EnterScope(FlowScope innermost) {
    scope = ObjectScope.Innermost(innermost);
    while (scope != null && !scope.Take(handle, Release, out place)) scope = ObjectScope.Innermost(scope.Outer);
  }

  /// <summary>The class, and whether the object was disposed of.</summary>
  public override string ToString() { return Shown(() => $"{GetType().Name}[{handle.ToInt64():x}]"); }

  /// <summary>The text for programmers: of an object that can no longer be read it says why, and does not throw.</summary>
  internal string Shown(Func<string> text) {
    if (Volatile.Read(ref guard) == null) return GetType().Name + "[disposed]";
    try {
      return text();
    } catch (Exception ended) when (ended is HalftoneException || ended is ObjectDisposedException) {
      return $"{GetType().Name}[{ended.Message}]";
    }
  }

  internal IntPtr Handle {
    get {
      if (Volatile.Read(ref guard) == null) throw new ObjectDisposedException(GetType().Name);
      return handle;
    }
  }

  /// <summary>The handle as an argument; the object is not collected during the call.</summary>
  internal static HandleRef Reference(NativeObject one) {
    return new HandleRef(one, one == null ? IntPtr.Zero : one.Handle);
  }

  internal static HandleRef Required(NativeObject one, string name) { return Reference(Packer.Required(one, name)); }
}

}
