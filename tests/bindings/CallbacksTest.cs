using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using Halftone;

/// <summary>Hooks, schedules, reductions, spikes and the log, which are functions of C#, and what these throw.</summary>
sealed class CallbacksTest : Callbacks {
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
    Suite.IsMissing("callback", () => Module.Relu().AddForwardHook(null));
  }

  static void SchedulesAreFunctionsOfTheStep() {
    var optimizer = Optimizer.Adamw(Module.Linear(device, 2, 1), new AdamwOptions {Lr = 0.5});
    optimizer.SetSchedule(Schedule.Callback(position => 0.5 / (1 + position)));
    Suite.Equal(optimizer.Lr, 0.25);
    optimizer.SetSchedule(Schedule.Callback(position => Wall<double>()));
    Arrives(() => optimizer.Lr.ToString());
  }

  static void Step(Statistics statistics, double loss) {
    statistics.BeginStep();
    statistics.EndStep(loss, 1);
  }

  static void SpikesHaveAStepAndAName() {
    var statistics = new Statistics(device);
    var seen = new List<string>();
    statistics.SetSpikeCallback((step, quantity) => seen.Add(quantity + " " + step));
    Step(statistics, 1);
    Step(statistics, double.PositiveInfinity);
    Suite.Check(seen.SequenceEqual(new[] {"loss 2"}), string.Join(",", seen));
    Suite.Equal(statistics.LastSpike().Value, double.PositiveInfinity);
    statistics.SetSpikeCallback((step, quantity) => Wall<int>());
    Arrives(() => Step(statistics, double.NaN));
    Suite.Equal(statistics.Summary().Spikes, 2);
  }

  /// <summary>Trains for two steps.</summary>
  static void Train(TrainerStepFunction callback) {
    var model = Module.Linear(device, 2, 1);
    var sampler = new Sampler(new SamplerOptions {Count = 4, BatchSize = 2});
    var trainer = new Trainer(model, new Batches(sampler, Tensor.Ones(device, Dtype.F32, 4, 2)));
    trainer.SetCallback(callback);
    while (trainer.Next() != TrainerPhase.Done) {
      using (trainer.Turn()) trainer.TakeLoss(model.Forward(trainer.Tensor(0)).Mean());
    }
  }

  static void ATrainerCallsAfterEachStep() {
    var seen = new List<long>();
    Train(step => seen.Add(step));
    Suite.Check(seen.SequenceEqual(new long[] {1, 2}), string.Join(",", seen));
    Arrives(() => Train(step => Wall<int>()));
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
    suite.Test("AnErrorOfTheLibraryInsideKeepsItsClass", AnErrorOfTheLibraryInsideKeepsItsClass);
    suite.Test("HooksSeeAndReplace", HooksSeeAndReplace);
    suite.Test("ArgumentsThatAHookKeepsStay", ArgumentsThatAHookKeepsStay);
    suite.Test("HooksPassExceptionsOn", HooksPassExceptionsOn);
    suite.Test("NoFunctionIsRefused", NoFunctionIsRefused);
    suite.Test("SchedulesAreFunctionsOfTheStep", SchedulesAreFunctionsOfTheStep);
    suite.Test("SpikesHaveAStepAndAName", SpikesHaveAStepAndAName);
    suite.Test("ATrainerCallsAfterEachStep", ATrainerCallsAfterEachStep);
    suite.Test("AReductionAveragesABucket", AReductionAveragesABucket);
    suite.Test("TheLogGoesToAFunction", TheLogGoesToAFunction);
    suite.Test("ExceptionsOfThreadsAreKeptApart", ExceptionsOfThreadsAreKeptApart);
    suite.Test("DroppedFunctionsAreCollected", DroppedFunctionsAreCollected);
    return suite.Finish();
  }
}
