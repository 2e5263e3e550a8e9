namespace Halftone {

public sealed partial class Scope {
  private bool isEnded;

  /// <summary>
  /// Begins a scope that releases at its end every object that this thread made inside, but those passed to Ops.Keep:
  /// <c>using (Scope.Begin()) model.Forward(images).Backward();</c>
  /// </summary>
  public static Scope Begin() { return Ops.Scope(); }

  /// <summary>Ends the scope, on the thread that began it; a second call does nothing.</summary>
  public override void Dispose() {
    if (isEnded) return;
    isEnded = true;
    End();
    System.GC.SuppressFinalize(this);
  }
}

}
