namespace Halftone {

/// <summary>
/// Arithmetic and comparisons of tensors, and of a tensor and a number on either side. == and != compare objects: Eq and
/// Ne compare elements.
/// </summary>
public sealed partial class Tensor {
  /// <summary>The sum, with broadcasting.</summary>
  public static Tensor operator +(Tensor a, Tensor b) { return Ops.Add(a, b); }
  /// <summary>Adds a number.</summary>
  public static Tensor operator +(Tensor a, double b) { return Ops.Add(a, b); }
  /// <summary>Adds a number.</summary>
  public static Tensor operator +(double a, Tensor b) { return Ops.Add(b, a); }

  /// <summary>The difference, with broadcasting.</summary>
  public static Tensor operator -(Tensor a, Tensor b) { return Ops.Sub(a, b); }
  /// <summary>Subtracts a number.</summary>
  public static Tensor operator -(Tensor a, double b) { return Ops.Sub(a, b); }
  /// <summary>Subtracts from a number. The result has a float dtype.</summary>
  public static Tensor operator -(double a, Tensor b) { return Ops.Rescale(b, -1, a); }
  /// <summary>Subtracts from an integer. The elements keep their dtype.</summary>
  public static Tensor operator -(long a, Tensor b) {
    using (var negated = Ops.Neg(b)) return Ops.Add(negated, a);
  }

  /// <summary>The product of the elements, with broadcasting.</summary>
  public static Tensor operator *(Tensor a, Tensor b) { return Ops.Mul(a, b); }
  /// <summary>Multiplies by a number.</summary>
  public static Tensor operator *(Tensor a, double b) { return Ops.Mul(a, b); }
  /// <summary>Multiplies by a number.</summary>
  public static Tensor operator *(double a, Tensor b) { return Ops.Mul(b, a); }

  /// <summary>The quotient, with broadcasting.</summary>
  public static Tensor operator /(Tensor a, Tensor b) { return Ops.Div(a, b); }
  /// <summary>Divides by a number.</summary>
  public static Tensor operator /(Tensor a, double b) { return Ops.Div(a, b); }
  /// <summary>Divides a number: its product with the reciprocal, as in PyTorch.</summary>
  public static Tensor operator /(double a, Tensor b) {
    using (var reciprocal = Ops.Reciprocal(b)) return Ops.Mul(reciprocal, a);
  }

  /// <summary>The negated elements.</summary>
  public static Tensor operator -(Tensor a) { return Ops.Neg(a); }
  /// <summary>True where an element is 0.</summary>
  public static Tensor operator !(Tensor a) { return Ops.LogicalNot(a); }
  /// <summary>True where both elements are.</summary>
  public static Tensor operator &(Tensor a, Tensor b) { return Ops.LogicalAnd(a, b); }
  /// <summary>True where at least one element is.</summary>
  public static Tensor operator |(Tensor a, Tensor b) { return Ops.LogicalOr(a, b); }

  /// <summary>True where an element of a is less.</summary>
  public static Tensor operator <(Tensor a, Tensor b) { return Ops.Lt(a, b); }
  /// <summary>True where an element of a is greater.</summary>
  public static Tensor operator >(Tensor a, Tensor b) { return Ops.Gt(a, b); }
  /// <summary>True where an element of a is not greater.</summary>
  public static Tensor operator <=(Tensor a, Tensor b) { return Ops.Le(a, b); }
  /// <summary>True where an element of a is not less.</summary>
  public static Tensor operator >=(Tensor a, Tensor b) { return Ops.Ge(a, b); }
  /// <summary>True where an element is less than a number.</summary>
  public static Tensor operator <(Tensor a, double b) { return Ops.Lt(a, b); }
  /// <summary>True where an element is greater than a number.</summary>
  public static Tensor operator >(Tensor a, double b) { return Ops.Gt(a, b); }
  /// <summary>True where an element is at most a number.</summary>
  public static Tensor operator <=(Tensor a, double b) { return Ops.Le(a, b); }
  /// <summary>True where an element is at least a number.</summary>
  public static Tensor operator >=(Tensor a, double b) { return Ops.Ge(a, b); }
  /// <summary>True where an element is greater than a number.</summary>
  public static Tensor operator <(double a, Tensor b) { return Ops.Gt(b, a); }
  /// <summary>True where an element is less than a number.</summary>
  public static Tensor operator >(double a, Tensor b) { return Ops.Lt(b, a); }
  /// <summary>True where an element is at least a number.</summary>
  public static Tensor operator <=(double a, Tensor b) { return Ops.Ge(b, a); }
  /// <summary>True where an element is at most a number.</summary>
  public static Tensor operator >=(double a, Tensor b) { return Ops.Le(b, a); }
}

}
