using System;
using System.Collections.Generic;

namespace Halftone {

/// <summary>
/// A module with a forward of the program's own. The class declares its parts by Child, Parameter and Buffer, and
/// overrides Forward: <c>protected override Tensor Forward(Tensor x) { return x + inner.Forward(x); }</c>
/// The module, which ToModule makes, keeps this object and its parts. So that both can be collected, this object must
/// not keep the module.
/// </summary>
public abstract class CustomModule {
  private readonly List<Action<Module>> parts = new List<Action<Module>>();
  private readonly CustomOptions options;

  /// <summary>
  /// A module of one input and one output, or of as many as the options say: then it overrides the Forward of arrays.
  /// </summary>
  protected CustomModule(CustomOptions options = null) {
    this.options = options;
  }

  /// <summary>Makes a module a part of this one; returns it.</summary>
  protected Module Child(string name, Module child) {
    Packer.Required(child, name);
    parts.Add(module => module.AddChild(name, child));
    return child;
  }

  /// <summary>Makes a parameter a part of this module, which optimizers then see; returns it.</summary>
  protected Parameter Parameter(string name, Parameter parameter) {
    Packer.Required(parameter, name);
    parts.Add(module => module.AddParameter(name, parameter));
    return parameter;
  }

  /// <summary>Makes a tensor a part of the module's state, which no optimizer updates; returns it.</summary>
  protected Tensor Buffer(string name, Tensor tensor) {
    Packer.Required(tensor, name);
    parts.Add(module => module.AddBuffer(name, tensor));
    return tensor;
  }

  /// <summary>Computes the output of a module of one input and one output.</summary>
  protected virtual Tensor Forward(Tensor input) {
    throw new NotSupportedException(GetType() + " overrides no Forward");
  }

  /// <summary>Computes the outputs; an absent input is null. The modes of the thread are those of the caller.</summary>
  protected virtual Tensor[] Forward(Tensor[] inputs) { return new[] {Forward(inputs[0])}; }

  /// <summary>Makes a module of this object and its parts.</summary>
  public Module ToModule() {
    // The function must not refer to the module, so no other function here may: they would share what they refer to.
    var made = Module.Custom((self, inputs) => Forward(inputs), options);
    try {
      foreach (var part in parts) part(made);
      return made;
    } catch {
      made.Dispose();
      throw;
    }
  }
}

}
