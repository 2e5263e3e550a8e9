using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Reflection;
using System.Runtime.ExceptionServices;
using Halftone;
using Map = System.Collections.Generic.Dictionary<string, object>;

/// <summary>
/// The operations by their names in the vectors: an argument is the attribute of its name, or else the next input.
/// </summary>
sealed class VectorCalls {
  // A list of the vectors is one argument for each side.
  static readonly Dictionary<string, string> sides = new Dictionary<string, string> {
    {"kernel_h", "kernel"}, {"kernel_w", "kernel"}, {"result_h", "result"}, {"result_w", "result"},
    {"normalized_shape", "shape"}};

  readonly Device device;

  internal VectorCalls(Device device) { this.device = device; }

  internal static double Number(object value) {
    if (value is string word) {
      return word == "nan" ? double.NaN : word == "inf" ? double.PositiveInfinity : double.NegativeInfinity;
    }
    return Convert.ToDouble(value, CultureInfo.InvariantCulture);
  }

  internal static string Pascal(string name) {
    return string.Concat(name.Split('_').Select(word => char.ToUpperInvariant(word[0]) + word.Substring(1)));
  }

  static string Snake(string name) {
    return string.Concat(name.Select(letter => char.IsUpper(letter) ? "_" + char.ToLowerInvariant(letter)
                                                                    : letter.ToString())).TrimStart('_');
  }

  /// <summary>Calls a method; throws what it throws.</summary>
  internal static object Invoke(MethodBase method, object self, params object[] arguments) {
    try {
      return method.Invoke(self, arguments);
    } catch (TargetInvocationException error) {
      ExceptionDispatchInfo.Capture(error.InnerException).Throw();
      throw;
    }
  }

  internal Tensor[] Call(string name, Tensor[] inputs, Map attributes) {
    if (name.EndsWith("_in_place") || name == "copy_from") {
      Invoke(typeof(Tensor).GetMethod(Pascal(name)), inputs[0], inputs[1]);
      return new[] {inputs[0].Clone()};
    }
    var method = typeof(Ops).GetMethods().Where(one => one.Name == Pascal(name))
        .OrderByDescending(one => one.GetParameters().Length).First();
    var left = new Queue<Tensor>(inputs);
    if (name == "linear_cross_entropy") {  // C takes the bias before the targets
      left = new Queue<Tensor>(new[] {inputs[0], inputs[1], inputs[3], inputs[2], inputs[4]});
    }
    var arguments = method.GetParameters().Select(one => Argument(one, attributes, left)).ToArray();
    return ListOf(Invoke(method, null, arguments));
  }

  static Tensor[] ListOf(object made) {
    if (made is Tensor single) return new[] {single};
    if (made is Tensor[] several) return several;
    return made.GetType().GetFields().Select(field => (Tensor)field.GetValue(made)).ToArray();
  }

  object Argument(ParameterInfo parameter, Map attributes, Queue<Tensor> left) {
    var type = parameter.ParameterType;
    if (type == typeof(Device)) return device;
    if (type == typeof(Tensor[])) return left.ToArray();
    if (type == typeof(Tensor)) return left.Count == 0 ? null : left.Dequeue();
    if (type.Name.EndsWith("Options")) return Options(type, attributes, left);
    return Value(parameter, Snake(parameter.Name), attributes);
  }

  static object Value(ParameterInfo parameter, string name, Map attributes) {
    string given = attributes.ContainsKey(name) || !sides.ContainsKey(name) ? name : sides[name];
    attributes.TryGetValue(given, out object found);
    if (parameter.ParameterType == typeof(long[])) return Longs(found);
    if (found is IList list) found = list[name.EndsWith("_w") ? list.Count - 1 : 0];
    if (found != null) return Converted(found, parameter.ParameterType);
    if (parameter.HasDefaultValue) return parameter.DefaultValue;
    return Activator.CreateInstance(parameter.ParameterType);
  }

  static long[] Longs(object list) {
    return list == null ? new long[0] : ((IList)list).Cast<object>().Select(Convert.ToInt64).ToArray();
  }

  internal static object Converted(object value, Type type) {
    if (type.IsEnum) return Enum.Parse(type, ((string)value).Replace("_", ""), true);
    if (type == typeof(double)) return Number(value);
    return Convert.ChangeType(value, type, CultureInfo.InvariantCulture);
  }

  static object Options(Type type, Map attributes, Queue<Tensor> left) {
    object made = Activator.CreateInstance(type);
    foreach (var property in type.GetProperties()) {
      string name = Snake(property.Name);
      if (property.PropertyType == typeof(Tensor) && left.Count > 0) {
        property.SetValue(made, left.Dequeue());
      } else if (attributes.ContainsKey(name)) {
        property.SetValue(made, Converted(attributes[name], property.PropertyType));
      }
    }
    return made;
  }
}
