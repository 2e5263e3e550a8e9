using System.Threading;

namespace Halftone {

public sealed partial class Hook {
  private int isDisposed;

  /// <summary>
  /// Removes the hook and releases this object; a second call does nothing. A hook that is only collected stays where
  /// it was added.
  /// </summary>
  public override void Dispose() {
    if (Interlocked.Exchange(ref isDisposed, 1) != 0) return;
    Remove();
    base.Dispose();
  }
}

}
