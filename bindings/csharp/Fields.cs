using System;
using System.Collections;
using System.Linq;

namespace Halftone {

/// <summary>A structure of settings or results: two are equal if all of their properties are.</summary>
public abstract class Fields {
  internal Fields() {}

  private object[] Values() { return GetType().GetProperties().Select(one => one.GetValue(this)).ToArray(); }

  /// <summary>True for an object of this class with equal properties.</summary>
  public override bool Equals(object other) {
    return other != null && other.GetType() == GetType() &&
           StructuralComparisons.StructuralEqualityComparer.Equals(Values(), ((Fields)other).Values());
  }

  /// <summary>Equal objects have equal numbers, while no property changes.</summary>
  public override int GetHashCode() { return StructuralComparisons.StructuralEqualityComparer.GetHashCode(Values()); }

  /// <summary>The class and its properties.</summary>
  public override string ToString() {
    var shown = GetType().GetProperties().Select(one => one.Name + " = " + Text(one.GetValue(this)));
    return GetType().Name + " { " + string.Join(", ", shown) + " }";
  }

  private static string Text(object value) {
    return value is long[] numbers ? "[" + string.Join(", ", numbers) + "]"
                                   : Convert.ToString(value, System.Globalization.CultureInfo.InvariantCulture);
  }
}

}
