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
  private int isReleased;

  internal NativeObject(IntPtr handle) {
    this.handle = handle;
  }

  /// <summary>Releases the object if Dispose was not called.</summary>
  ~NativeObject() { ReleaseOnce(); }

  /// <summary>Releases the object now; a second call does nothing.</summary>
  public virtual void Dispose() {
    ReleaseOnce();
    GC.SuppressFinalize(this);
  }

  internal abstract void Release(IntPtr handle);

  /// <summary>The class, and whether the object was disposed of.</summary>
  public override string ToString() { return Shown(() => $"{GetType().Name}[{handle.ToInt64():x}]"); }

  /// <summary>The text for programmers: of an object that can no longer be read it says why, and does not throw.</summary>
  internal string Shown(Func<string> text) {
    if (Volatile.Read(ref isReleased) != 0) return GetType().Name + "[disposed]";
    try {
      return text();
    } catch (Exception ended) when (ended is HalftoneException || ended is ObjectDisposedException) {
      return $"{GetType().Name}[{ended.Message}]";
    }
  }

  internal IntPtr Handle {
    get {
      if (Volatile.Read(ref isReleased) != 0) throw new ObjectDisposedException(GetType().Name);
      return handle;
    }
  }

  /// <summary>The handle as an argument; the object is not collected during the call.</summary>
  internal static HandleRef Reference(NativeObject one) {
    return new HandleRef(one, one == null ? IntPtr.Zero : one.Handle);
  }

  private void ReleaseOnce() {
    if (Interlocked.Exchange(ref isReleased, 1) == 0) Release(handle);
  }
}

}
