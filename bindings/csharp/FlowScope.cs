namespace Halftone {

/// <summary>
/// A scope that code is inside of, within the scopes around it. An ended one may stay in the middle, and has no effect.
/// </summary>
abstract class FlowScope : Scope {
  /// <summary>The next scope around this one; null where there is none.</summary>
  internal FlowScope Outer { get; }

  internal FlowScope(FlowScope outer) {
    Outer = outer;
  }

  /// <summary>True if this scope is around code that is inside of the other, or is the other.</summary>
  internal bool IsAround(FlowScope inner) {
    while (inner != null && inner != this) inner = inner.Outer;
    return inner != null;
  }

  /// <summary>The innermost scope that has not ended, at most as far out as the last one.</summary>
  internal static FlowScope Open(FlowScope innermost, FlowScope last) {
    while (innermost != null && innermost != last && innermost.IsEnded) innermost = innermost.Outer;
    return innermost;
  }
}

}
