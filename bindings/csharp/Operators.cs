namespace Halftone {

/// <summary>Arithmetic of tensors, and of a tensor and a number.</summary>
public sealed partial class Tensor {
  /// <summary>The sum, with broadcasting.</summary>
  public static Tensor operator +(Tensor a, Tensor b) { return Ops.Add(a, b); }
  /// <summary>The difference, with broadcasting.</summary>
  public static Tensor operator -(Tensor a, Tensor b) { return Ops.Sub(a, b); }
  /// <summary>The product of the elements, with broadcasting.</summary>
  public static Tensor operator *(Tensor a, Tensor b) { return Ops.Mul(a, b); }
  /// <summary>The quotient, with broadcasting.</summary>
  public static Tensor operator /(Tensor a, Tensor b) { return Ops.Div(a, b); }
  /// <summary>Adds a number.</summary>
  public static Tensor operator +(Tensor a, double b) { return Ops.AddScalar(a, b); }
  /// <summary>Subtracts a number.</summary>
  public static Tensor operator -(Tensor a, double b) { return Ops.SubScalar(a, b); }
  /// <summary>Multiplies by a number.</summary>
  public static Tensor operator *(Tensor a, double b) { return Ops.MulScalar(a, b); }
  /// <summary>Divides by a number.</summary>
  public static Tensor operator /(Tensor a, double b) { return Ops.DivScalar(a, b); }
  /// <summary>The negated elements.</summary>
  public static Tensor operator -(Tensor a) { return Ops.Neg(a); }
}

}
