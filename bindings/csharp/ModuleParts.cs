using System;
using System.Collections;
using System.Collections.Generic;

namespace Halftone {

/// <summary>The parts of a module as lists.</summary>
public sealed partial class Module {
  /// <summary>The parameters of the module and its parts, in the order of Parameter.</summary>
  public IReadOnlyList<Parameter> Parameters() { return All(ParameterCount, Parameter); }

  /// <summary>The tensors of the state that no optimizer updates, in the order of Buffer.</summary>
  public IReadOnlyList<Tensor> Buffers() { return All(BufferCount(), Buffer); }

  /// <summary>The modules that this one consists of, without their own parts, in the order of Child.</summary>
  public IReadOnlyList<Module> Children() { return All(ChildCount, Child); }

  /// <summary>Sets the module and its parts to training mode; returns this module.</summary>
  public Module Train() {
    SetTraining(true);
    return this;
  }

  /// <summary>Sets the module and its parts to evaluation mode; returns this module.</summary>
  public Module Eval() {
    SetTraining(false);
    return this;
  }

  /// <summary>The table of Summary.</summary>
  public override string ToString() { return Shown(Summary); }

  private static IReadOnlyList<T> All<T>(long count, Func<long, T> part) {
    var parts = new List<T>();
    for (long i = 0; i < count; ++i) parts.Add(part(i));
    return parts;
  }
}

/// <summary>The tensors by name, in the order in which they were added.</summary>
public sealed partial class StateDict : IEnumerable<KeyValuePair<string, Tensor>> {
  /// <summary>The tensor of a name; an InvalidArgumentException where there is none.</summary>
  public Tensor this[string name] => Find(name);

  /// <summary>Enumerates the names and their tensors.</summary>
  public IEnumerator<KeyValuePair<string, Tensor>> GetEnumerator() {
    for (long i = 0; i < Count; ++i) yield return new KeyValuePair<string, Tensor>(Name(i), Tensor(i));
  }

  IEnumerator IEnumerable.GetEnumerator() { return GetEnumerator(); }
}

/// <summary>The set in the order in which its parameters were added.</summary>
public sealed partial class Parameters : IEnumerable<Parameter> {
  /// <summary>Enumerates the parameters.</summary>
  public IEnumerator<Parameter> GetEnumerator() {
    for (long i = 0; i < Count; ++i) yield return At(i);
  }

  IEnumerator IEnumerable.GetEnumerator() { return GetEnumerator(); }
}

}
