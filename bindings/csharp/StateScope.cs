using System;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>
/// A scope in which an object of the library has another state, such as gathered weights. The state is no thread's, so
/// the scope is alone in a stack of the library's, which any thread enters to end it.
/// </summary>
sealed class StateScope : Scope {
  private readonly HandleRef stack;
  private readonly HandleRef scope;

  /// <summary>`begin` begins a scope of the library on the calling thread.</summary>
  internal StateScope(Func<IntPtr> begin) {
    var made = NativePINVOKE.ScopeStack_create();
    Failure.Check();
    stack = new HandleRef(null, made);
    try {
      scope = new HandleRef(null, Inside(begin));
    } catch {
      NativePINVOKE.ScopeStack_release(stack);
      throw;
    }
  }

  internal override void End() {
    try {
      Inside(() => {
        NativePINVOKE.Scope_end(scope);
        return IntPtr.Zero;
      });
    } finally {
      NativePINVOKE.ScopeStack_release(stack);
    }
  }

  private IntPtr Inside(Func<IntPtr> call) {
    NativePINVOKE.ScopeStack_enter(stack);
    Failure.Check();
    try {
      var result = call();
      Failure.Check();
      return result;
    } finally {
      NativePINVOKE.ScopeStack_leave(stack);
      Failure.Check();
    }
  }
}

}
