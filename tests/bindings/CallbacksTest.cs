using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;
using Halftone;

/// <summary>Functions of C# that the library calls, and what they throw.</summary>
static class CallbacksTest {
  sealed class Broken : Exception {}

  static readonly Device device = new Device("cpu");
  static volatile Broken broken;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static T Wall<T>() {
    var made = new Broken();
    if (broken == null) broken = made;
    throw made;
  }

  static Tensor Of(params float[] values) { return Tensor.From(device, values); }

  static Tensor Pair(float a, float b) { return Tensor.From(device, new[] {a, b}, 1, 2); }

  static Tensor Variable(params float[] values) {
    var x = Of(values);
    x.RequiresGrad = true;
    return x;
  }

  static void Same(Tensor actual, params float[] expected) {
    Suite.Check(actual.ToArray<float>().SequenceEqual(expected), actual);
  }

  /// <summary>The exception is the first one of the callback itself, with its stack.</summary>
  static void Arrives(Action call) {
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

  static void AnErrorOfTheLibraryInsideKeepsItsClass() {
    var model = Module.Custom((self, inputs) => new[] {inputs[0] + Of(1, 2, 3)});
    try {
      model.Forward(Of(1, 2));
    } catch (ShapeMismatchException error) {
      Suite.Check(error.Message.Contains("htone_add"), error.Message);
      return;
    }
    throw new Exception("nothing was thrown");
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

  static void HooksSeeAndReplace() {
    var layer = Module.Relu();
    var x = Variable(-1, 2);
    var seen = new List<string>();
    var before = layer.AddForwardPreHook((self, inputs) => new[] {-inputs[0]});
    var after = layer.AddForwardHook((self, inputs, outputs) => {
      seen.Add(inputs[0].ToArray<float>()[0] + " " + outputs[0].ToArray<float>()[0]);
      return new[] {outputs[0] * 3};
    });
    var gradient = x.AddGradientHook(one => one * 10);
    var y = layer.Forward(x);
    Same(y, 3, 0);
    y.Sum().Backward();
    Same(x.Grad, -30, 0);
    foreach (var hook in new[] {before, after, gradient}) hook.Remove();
    Same(layer.Forward(x), 0, 2);
    Suite.Check(seen.SequenceEqual(new[] {"1 1"}), string.Join(",", seen));
    var linear = Module.Linear(device, 2, 1);
    linear.Parameter(0).AddPostAccumulateHook(parameter => Same(parameter.Grad, 1, 2));
    linear.Forward(Pair(1, 2)).Sum().Backward();
  }

  static void ArgumentsThatAHookKeepsStay() {
    var kept = new List<Tensor>();
    using (Scope.Begin()) {
      var layer = Module.Relu();
      layer.AddForwardHook((self, inputs, outputs) => {
        kept.AddRange(inputs.Concat(outputs));
        return null;
      });
      layer.Forward(Of(-1, 2));
    }
    var others = Enumerable.Range(0, 100).Select(_ => Of(9, 9)).ToArray();
    Same(kept[0], -1, 2);
    Same(kept[1], 0, 2);
    foreach (var one in kept.Concat(others)) one.Dispose();
  }

  static void HooksPassExceptionsOn() {
    Throwing((layer, x) => layer.AddForwardPreHook((self, inputs) => Wall<Tensor[]>()));
    Throwing((layer, x) => layer.AddForwardHook((self, inputs, outputs) => Wall<Tensor[]>()));
    Throwing((layer, x) => x.AddGradientHook(gradient => Wall<Tensor>()));
    Throwing((layer, x) => layer.Parameter(0).AddPostAccumulateHook(parameter => Wall<int>()));
  }

  static void Throwing(Func<Module, Tensor, Hook> add) {
    var layer = Module.Linear(device, 2, 1);
    var x = Pair(1, 2);
    x.RequiresGrad = true;
    using (add(layer, x)) Arrives(() => layer.Forward(x).Sum().Backward());
    layer.Forward(x).Sum().Backward();
  }

  static void NoFunctionIsRefused() {
    Suite.Raises(Status.InvalidArgument, "callback is NULL", () => Module.Relu().AddForwardHook(null));
  }

  static void SchedulesAreFunctionsOfTheStep() {
    var optimizer = Optimizer.Adamw(Module.Linear(device, 2, 1), new AdamwOptions {Lr = 0.5});
    optimizer.SetSchedule(Schedule.Callback(position => 0.5 / (1 + position)));
    Suite.Equal(optimizer.Lr, 0.25);
    optimizer.SetSchedule(Schedule.Callback(position => Wall<double>()));
    Arrives(() => optimizer.Lr.ToString());
  }

  static readonly Row[] rowTypes = {new Row(Dtype.F32, 2), new Row(Dtype.I64)};

  static Sampler MakeSampler() { return new Sampler(new SamplerOptions {Count = 4, BatchSize = 2, Shuffle = false}); }

  static void BatchesAreFilledByAFunction() {
    var batches = Batches.FromFunction(device, MakeSampler(), (indices, rows) => {
      rows[0].Write(indices.SelectMany(index => new[] {(float)index, -index}).ToArray());
      rows[1].Write(indices.Select(index => 10 * index).ToArray());
    }, rowTypes);
    batches.Advance();
    batches.Advance();
    Same(batches.Tensor(0), 2, -2, 3, -3);
    Suite.Check(batches.Tensor(1).ToArray<long>().SequenceEqual(new long[] {20, 30}), "labels");
  }

  static void BatchesPassExceptionsOnAndStayAtTheirPlace() {
    var sampler = MakeSampler();
    Arrives(() => Batches.FromFunction(device, sampler, (indices, rows) => Wall<int>(), rowTypes).Advance());
    Suite.Equal(sampler.Position().Batch, 0);
    BatchRows[] kept = null;
    Batches.FromFunction(device, MakeSampler(), (indices, rows) => kept = rows, rowTypes).Advance();
    foreach (Action use in new Action[] {() => kept[0].AsSpan<float>(), () => kept[1].Write(new long[2]),
                                         () => kept[0].Address.ToString()}) {
      try {
        use();
      } catch (ObjectDisposedException) {
        continue;
      }
      throw new Exception("memory of a batch was used after the call");
    }
    var wrong = Batches.FromFunction(device, sampler, (indices, rows) => rows[0].Write(new float[3]), rowTypes);
    try {
      wrong.Advance();
    } catch (ArgumentException error) {
      Suite.Check(error.Message.Contains("12 bytes for rows of 16 bytes"), error.Message);
      return;
    }
    throw new Exception("nothing was thrown");
  }

  /// <summary>A store of the program's.</summary>
  class Dictionary : IStoreFunctions {
    readonly Dictionary<string, byte[]> values = new Dictionary<string, byte[]>();

    byte[] Find(string key) { return values.TryGetValue(key, out var value) ? value : null; }

    public virtual void Set(string key, byte[] value) { lock (values) values[key] = value; }

    public byte[] Get(string key, double timeoutSeconds) {
      for (var end = DateTime.Now.AddSeconds(timeoutSeconds); DateTime.Now < end; Thread.Sleep(1)) {
        lock (values) {
          if (Find(key) != null) return Find(key);
        }
      }
      throw new TimeoutException(key);
    }

    public long Add(string key, long amount) {
      lock (values) {
        long sum = amount + (Find(key) == null ? 0 : long.Parse(Encoding.ASCII.GetString(Find(key))));
        values[key] = Encoding.ASCII.GetBytes(sum.ToString());
        return sum;
      }
    }

    public bool CompareSet(string key, byte[] expected, byte[] desired) {
      lock (values) {
        var found = Find(key);
        if (found == null ? expected != null : expected == null || !found.SequenceEqual(expected)) return false;
        values.Remove(key);
        if (desired != null) values[key] = desired;
        return true;
      }
    }

    public bool Remove(string key) { lock (values) return values.Remove(key); }
  }

  sealed class FailingStore : Dictionary {
    public override void Set(string key, byte[] value) { Wall<int>(); }
  }

  static void StoresAreObjectsOfTheProgram() {
    using (var context = new Context())
    using (var store = Store.FromObject(context, new Dictionary()))
    using (var failing = Store.FromObject(context, new FailingStore())) {
      var bytes = Enumerable.Range(0, 1000).Select(value => (byte)value).ToArray();
      store.Set("key", bytes);
      Suite.Check(store.Get("key", 1).SequenceEqual(bytes), "bytes");
      store.Set("empty", new byte[0]);
      Suite.Equal(store.Get("empty", 1).Length, 0);
      store.Add("sum", 3);
      Suite.Equal(store.Add("sum", 4), 7);
      Suite.Raises(Status.Timeout, "", () => store.Get("absent", 0.01));
      Arrives(() => failing.Set("key", bytes));
    }
  }

  static void AStoreConnectsRanks() {
    var context = new Context();
    var store = Store.FromObject(context, new Dictionary());
    var shared = new Device("cpu", context);
    var sums = new float[2];
    var threads = Enumerable.Range(0, 2).Select(rank => new Thread(() => {
      using (var group = new Group(shared, "threads", store, new GroupOptions {Rank = rank, Size = 2}))
      using (var x = Tensor.From(shared, new[] {rank + 1f})) {
        group.AllReduce(ReduceOp.Sum, x, x);
        sums[rank] = x.ToArray<float>()[0];
      }
    })).ToArray();
    foreach (var thread in threads) thread.Start();
    foreach (var thread in threads) thread.Join();
    Suite.Check(sums.SequenceEqual(new[] {3f, 3f}), string.Join(" ", sums));
  }

  static void AReductionAveragesABucket() {
    var layer = Module.Linear(device, 2, 1, new LinearOptions {Bias = false});
    using (var replicated = new DistributedDataParallel(layer, new Group(device, "single"))) {
      var seen = new List<long>();
      replicated.SetReduction((bucket, index) => {
        seen.Add(index);
        bucket.Write((bucket * 0.5).ToArray<float>());
      });
      layer.Forward(Pair(1, 2)).Sum().Backward();
      Suite.Check(seen.SequenceEqual(new long[] {0}), string.Join(" ", seen));
      Same(layer.Parameter(0).Grad, 0.5f, 1);
      replicated.SetReduction((bucket, index) => Wall<int>());
      Arrives(() => layer.Forward(Pair(1, 2)).Sum().Backward());
    }
  }

  /// <summary>The library reports a checkpoint that it must skip.</summary>
  static long LoadDamaged() {
    string folder = Path.Combine(Path.GetTempPath(), Guid.NewGuid().ToString());
    var state = new StateDict();
    state.Add("x", Of(1, 2));
    try {
      using (var context = Context.DefaultContext())
      using (var checkpoint = new Checkpoint(context, folder)) {
        checkpoint.AddStateDict("state", state);
        checkpoint.Save(1);
        checkpoint.Save(2);
        using (var newest = File.OpenWrite(Path.Combine(folder, "step-2/index.json"))) {
          newest.SetLength(newest.Length - 5);
        }
        return checkpoint.Load();
      }
    } finally {
      Directory.Delete(folder, true);
    }
  }

  static void TheLogGoesToAFunction() {
    var lines = new List<string>();
    Ops.LogSetCallback(line => { lock (lines) lines.Add(line); });
    Suite.Equal(LoadDamaged(), 1);
    Suite.Check(string.Join("\n", lines).Contains("checkpoint of step 2 is damaged"), string.Join("\n", lines));
    var error = Console.Error;
    var reported = new StringWriter();
    Console.SetError(reported);
    Ops.LogSetCallback(line => Wall<int>());
    Suite.Equal(LoadDamaged(), 1);
    Console.SetError(error);
    Ops.LogSetCallback(null);
    Suite.Check(reported.ToString().Contains("Broken"), reported);
  }

  static void ExceptionsOfThreadsAreKeptApart() {
    var layer = Module.Relu();
    layer.AddForwardPreHook((self, inputs) => { throw new InvalidOperationException(Thread.CurrentThread.Name); });
    var wrong = new List<string>();
    var threads = Enumerable.Range(0, 4).Select(index => new Thread(() => FailOften(layer, wrong)) {
      Name = "thread " + index
    }).ToArray();
    foreach (var thread in threads) thread.Start();
    foreach (var thread in threads) thread.Join();
    Suite.Check(wrong.Count == 0, string.Join(" ", wrong));
  }

  static void FailOften(Module layer, List<string> wrong) {
    for (int i = 0; i < 50; ++i) {
      try {
        using (var x = Of(1)) layer.Forward(x);
        lock (wrong) wrong.Add("nothing was thrown");
      } catch (InvalidOperationException error) {
        if (error.Message != Thread.CurrentThread.Name) lock (wrong) wrong.Add(error.Message);
      }
    }
  }

  sealed class Traced {
    internal static int Freed;
    internal float Value;

    ~Traced() { Interlocked.Increment(ref Freed); }
  }

  static void AddHook() {
    var layer = Module.Relu();
    var kept = new Traced();
    layer.AddForwardHook((self, inputs, outputs) => {
      kept.Value = 1;
      return null;
    });
    layer.Forward(Of(1));
  }

  // The hooks are added on a separate thread: Mono's collector treats any value on a live stack as a reference. Some that
  // it still finds there are allowed.
  static void DroppedFunctionsAreCollected() {
    var adds = new Thread(() => {
      for (int i = 0; i < 50; ++i) AddHook();
    });
    adds.Start();
    adds.Join();
    for (int i = 0; i < 200 && Traced.Freed < 40; ++i) {
      GC.Collect();
      GC.WaitForPendingFinalizers();
      Thread.Sleep(1);
    }
    Suite.Check(Traced.Freed >= 40, Traced.Freed + " functions of 50 are freed");
  }

  static int Main() {
    var suite = new Suite();
    suite.Test("AModuleHasItsParts", AModuleHasItsParts);
    suite.Test("AModuleRunsAfterItsObjectIsGone", AModuleRunsAfterItsObjectIsGone);
    suite.Test("SeveralInputsAndOutputs", SeveralInputsAndOutputs);
    suite.Test("WrongResultsAreNamed", WrongResultsAreNamed);
    suite.Test("ExceptionsPassEveryLevel", ExceptionsPassEveryLevel);
    suite.Test("AnErrorOfTheLibraryInsideKeepsItsClass", AnErrorOfTheLibraryInsideKeepsItsClass);
    suite.Test("FunctionsHaveTheirOwnBackward", FunctionsHaveTheirOwnBackward);
    suite.Test("FunctionsPassExceptionsOn", FunctionsPassExceptionsOn);
    suite.Test("HooksSeeAndReplace", HooksSeeAndReplace);
    suite.Test("ArgumentsThatAHookKeepsStay", ArgumentsThatAHookKeepsStay);
    suite.Test("HooksPassExceptionsOn", HooksPassExceptionsOn);
    suite.Test("NoFunctionIsRefused", NoFunctionIsRefused);
    suite.Test("SchedulesAreFunctionsOfTheStep", SchedulesAreFunctionsOfTheStep);
    suite.Test("BatchesAreFilledByAFunction", BatchesAreFilledByAFunction);
    suite.Test("BatchesPassExceptionsOn", BatchesPassExceptionsOnAndStayAtTheirPlace);
    suite.Test("StoresAreObjectsOfTheProgram", StoresAreObjectsOfTheProgram);
    suite.Test("AStoreConnectsRanks", AStoreConnectsRanks);
    suite.Test("AReductionAveragesABucket", AReductionAveragesABucket);
    suite.Test("TheLogGoesToAFunction", TheLogGoesToAFunction);
    suite.Test("ExceptionsOfThreadsAreKeptApart", ExceptionsOfThreadsAreKeptApart);
    suite.Test("DroppedFunctionsAreCollected", DroppedFunctionsAreCollected);
    return suite.Finish();
  }
}
