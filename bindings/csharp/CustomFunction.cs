using System;

namespace Halftone {

/// <summary>
/// A function with a backward of the program's own: a class that overrides Forward and Backward.
/// <c>new Square().Apply(x)</c> computes it and records it.
/// </summary>
public abstract class CustomFunction {
  /// <summary>The tensors that Forward and Backward of one use of a function share.</summary>
  public sealed class Saved {
    /// <summary>The tensors that were kept, in Backward.</summary>
    public Tensor[] Tensors { get; private set; } = new Tensor[0];

    /// <summary>In Backward: whether it must compute the gradient of an input.</summary>
    public bool[] NeedsGrad { get; } = new bool[0];

    internal Saved() {}

    internal Saved(Tensor[] tensors, bool[] needsGrad) {
      Tensors = tensors;
      NeedsGrad = needsGrad;
    }

    /// <summary>Keeps tensors, of which Backward finds the same values.</summary>
    public void Keep(params Tensor[] kept) { Tensors = kept; }
  }

  /// <summary>Computes the results. Nothing is recorded meanwhile.</summary>
  protected abstract Tensor[] Forward(Saved saved, Tensor[] inputs);

  /// <summary>Computes a gradient for each input, of those of the results. Null is zero.</summary>
  protected abstract Tensor[] Backward(Saved saved, Tensor[] gradients);

  /// <summary>Computes the function and records it.</summary>
  public Tensor[] Apply(params Tensor[] inputs) {
    Packer.Required(inputs, nameof(inputs));
    var saved = new Saved();
    Tensor[] outputs;
    using (Ops.NoGrad()) outputs = Forward(saved, inputs);
    // The graph keeps the function, so that must not keep tensors, which may be of the graph.
    using (var function = new Function(GetType().Name, RunBackward)) {
      return function.Record(inputs, outputs, saved.Tensors);
    }
  }

  private Tensor[] RunBackward(Tensor[] tensors, Tensor[] gradients, bool[] needsGrad) {
    var made = Backward(new Saved(tensors, needsGrad), gradients);
    if (made.Length == needsGrad.Length) return made;
    throw new InvalidOperationException($"{GetType()}.Backward returned {made.Length} gradients, expected " +
                                        $"{needsGrad.Length}: one for each input");
  }
}

}
