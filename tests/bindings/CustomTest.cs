using System;
using System.Linq;
using Halftone;

/// <summary>Modules and functions of C#, and what they throw.</summary>
sealed class CustomTest : Callbacks {
  sealed class Residual : CustomModule {
    readonly Module inner;
    readonly Parameter scale;

    internal Residual(long width) {
      inner = Child("inner", Module.Linear(device, width, width));
      scale = Parameter("scale", new Parameter("scale", Of(2)));
    }

    protected override Tensor Forward(Tensor x) { return x + scale.Tensor * inner.Forward(x); }
  }

  sealed class Gate : CustomModule {
    internal Gate() : base(new CustomOptions {InputCount = 2, OutputCount = 2}) {}

    protected override Tensor[] Forward(Tensor[] inputs) {
      return new[] {inputs[1] == null ? inputs[0] : inputs[0] * inputs[1], -inputs[0]};
    }
  }

  static void AModuleHasItsParts() {
    var model = Module.Sequential(new Residual(2).ToModule(), Module.Relu());
    var names = Enumerable.Range(0, 3).Select(index => model.ParameterName(index)).OrderBy(name => name);
    Suite.Check(names.SequenceEqual(new[] {"0.inner.bias", "0.inner.weight", "0.scale"}), string.Join(" ", names));
    model.Forward(Pair(1, 2)).Sum().Backward();
    Suite.Check(model.Parameter(0).Grad != null, "no gradient");
  }

  static void AModuleRunsAfterItsObjectIsGone() {
    var model = Module.Sequential(new Residual(2).ToModule());
    var first = model.Forward(Pair(1, 2)).ToArray<float>();
    GC.Collect();
    GC.WaitForPendingFinalizers();
    Same(model.Forward(Pair(1, 2)), first);
  }

  static void SeveralInputsAndOutputs() {
    var gate = new Gate().ToModule();
    var x = Of(1, 2);
    var made = gate.ForwardN(new[] {x, Of(0, 1)}, null, 2);
    Same(made[0], 0, 2);
    Same(made[1], -1, -2);
    Same(gate.ForwardN(new[] {x}, null, 2)[0], 1, 2);
    Suite.Raises(Status.InvalidArgument, "", () => gate.ForwardN(new[] {x, x, x}, null, 2));
  }

  static void WrongResultsAreNamed() {
    var two = Module.Custom((self, inputs) => new[] {inputs[0], inputs[0]});
    Suite.Raises(Status.InvalidArgument, "the function returned 2 tensors, expected 1", () => two.Forward(Of(1)));
    var none = Module.Custom((self, inputs) => null);
    Suite.Raises(Status.InvalidHandle, "", () => none.Forward(Of(1)));
    var closed = Module.Custom((self, inputs) => {
      var made = -inputs[0];
      made.Dispose();
      return new[] {made};
    });
    Suite.IsDisposed("Tensor", () => closed.Forward(Of(1)));
  }

  // In a method of its own: functions of one method share what they refer to, and the function must not refer to outer.
  static Module Outer() {
    var inner = Module.Custom((self, inputs) => Wall<Tensor[]>());
    return Module.Custom((self, inputs) => new[] {inner.Forward(inputs[0])});
  }

  static void ExceptionsPassEveryLevel() {
    Arrives(() => Module.Sequential(Module.Sequential(Outer())).Forward(Of(1)));
    Same(Of(1), 1);
  }

  sealed class Square : CustomFunction {
    protected override Tensor[] Forward(Saved saved, Tensor[] inputs) {
      saved.Keep(inputs[0]);
      return new[] {inputs[0] * inputs[0]};
    }

    protected override Tensor[] Backward(Saved saved, Tensor[] gradients) {
      return new[] {saved.Tensors[0] * 2 * gradients[0]};
    }
  }

  sealed class Swap : CustomFunction {
    protected override Tensor[] Forward(Saved saved, Tensor[] inputs) { return new[] {inputs[1] + 0, inputs[0] + 0}; }

    protected override Tensor[] Backward(Saved saved, Tensor[] gradients) {
      Suite.Check(gradients[0] == null && saved.NeedsGrad[0] && !saved.NeedsGrad[1], "needs");
      return new[] {gradients[1] * 5, null};
    }
  }

  sealed class Failing : CustomFunction {
    readonly bool inForward;

    internal Failing(bool inForward) { this.inForward = inForward; }

    protected override Tensor[] Forward(Saved saved, Tensor[] inputs) {
      return inForward ? Wall<Tensor[]>() : new[] {inputs[0] * 1};
    }

    protected override Tensor[] Backward(Saved saved, Tensor[] gradients) { return Wall<Tensor[]>(); }
  }

  static void FunctionsHaveTheirOwnBackward() {
    var x = Variable(1, 3);
    var y = new Square().Apply(x)[0];
    Same(y, 1, 9);
    y.Sum().Backward();
    Same(x.Grad, 2, 6);
    var a = Variable(1);
    new Swap().Apply(a, Of(2))[1].Sum().Backward();
    Same(a.Grad, 5);
  }

  static void FunctionsPassExceptionsOn() {
    var x = Variable(1);
    Arrives(() => new Failing(true).Apply(x));
    Suite.Check((x + 1).RequiresGrad, "recording is off");
    var y = new Failing(false).Apply(x)[0].Sum();
    Arrives(() => y.Backward());
  }

  static int Main() {
    var suite = new Suite();
    suite.Test("AModuleHasItsParts", AModuleHasItsParts);
    suite.Test("AModuleRunsAfterItsObjectIsGone", AModuleRunsAfterItsObjectIsGone);
    suite.Test("SeveralInputsAndOutputs", SeveralInputsAndOutputs);
    suite.Test("WrongResultsAreNamed", WrongResultsAreNamed);
    suite.Test("ExceptionsPassEveryLevel", ExceptionsPassEveryLevel);
    suite.Test("FunctionsHaveTheirOwnBackward", FunctionsHaveTheirOwnBackward);
    suite.Test("FunctionsPassExceptionsOn", FunctionsPassExceptionsOn);
    return suite.Finish();
  }
}
