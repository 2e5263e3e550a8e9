using System;
using System.Linq;
using System.Runtime.CompilerServices;
using Halftone;

/// <summary>Shared by the tests of functions that the library calls: a function that throws, and small tensors.</summary>
abstract class Callbacks {
  protected sealed class Broken : Exception {}

  protected static readonly Device device = new Device("cpu");
  protected static volatile Broken broken;

  [MethodImpl(MethodImplOptions.NoInlining)]
  protected static T Wall<T>() {
    var made = new Broken();
    if (broken == null) broken = made;
    throw made;
  }

  protected static Tensor Of(params float[] values) { return Tensor.From(device, values); }

  protected static Tensor Pair(float a, float b) { return Tensor.From(device, new[] {a, b}, 1, 2); }

  protected static Tensor Variable(params float[] values) {
    var x = Of(values);
    x.RequiresGrad = true;
    return x;
  }

  protected static void Same(Tensor actual, params float[] expected) {
    Suite.Check(actual.ToArray<float>().SequenceEqual(expected), actual);
  }

  /// <summary>The exception is the first one of the callback itself, with its stack.</summary>
  protected static void Arrives(Action call) {
    broken = null;
    try {
      call();
    } catch (Broken thrown) {
      Suite.Check(thrown == broken, "another exception");
      Suite.Check(thrown.StackTrace.Contains("Wall"), thrown.StackTrace);
      return;
    }
    throw new Exception("nothing was thrown");
  }
}
