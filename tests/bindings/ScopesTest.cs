using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Halftone;

/// <summary>Scopes and modes where code goes on in other threads.</summary>
static class ScopesTest {
  static readonly Device device = new Device("cpu");

  static void OnAnotherThread(ThreadStart call) {
    Exception thrown = null;
    var thread = new Thread(() => {
      try {
        call();
      } catch (Exception error) {
        thrown = error;
      }
    });
    thread.Start();
    thread.Join();
    if (thrown != null) throw thrown;
  }

  /// <summary>The modes of this thread: whether a product is recorded, and its dtype.</summary>
  static (bool Records, Dtype Dtype) Modes() {
    using (var x = Tensor.From(device, new[] {1f}, 1, 1)) {
      x.RequiresGrad = true;
      using (var product = x.Matmul(x)) return (product.RequiresGrad, product.Dtype);
    }
  }

  static readonly (bool, Dtype) none = (true, Dtype.F32);
  static readonly (bool, Dtype) inNoGrad = (false, Dtype.F32);
  static readonly (bool, Dtype) inBf16 = (true, Dtype.BF16);

  static void AModeEndsWithItsScope() {
    using (Ops.NoGrad()) Suite.Equal(Modes(), inNoGrad);
    using (Ops.Autocast(Dtype.BF16)) {
      Suite.Equal(Modes(), inBf16);
      using (Ops.Autocast(Dtype.F32)) Suite.Equal(Modes(), none);
      Suite.Equal(Modes(), inBf16);
    }
    Suite.Equal(Modes(), none);
  }

  static void APolicyMayBeDisposedOfInItsScope() {
    using (var policy = new AutocastPolicy(Dtype.F16)) {
      var scope = Ops.Autocast(policy);
      policy.Dispose();
      OnAnotherThread(() => Suite.Equal(Modes(), (true, Dtype.F16)));
      scope.Dispose();
    }
    Suite.Equal(Modes(), none);
  }

  // The continuation runs on the thread that completes the task.
  static async Task AwaitIn(Func<Scope> begin, Task task, Action continuation, Action after) {
    using (begin()) {
      await task.ConfigureAwait(false);
      continuation();
    }
    after();
  }

  static void AModeGoesAlongWithAnAwaitAndLeavesItsThread() {
    GoesAlong(Ops.NoGrad, inNoGrad);
    GoesAlong(() => Ops.Autocast(Dtype.BF16), inBf16);
    GoesAlong(Scope.Begin, none);
  }

  static void GoesAlong(Func<Scope> begin, (bool, Dtype) modes) {
    var pending = new TaskCompletionSource<bool>();
    var inside = (false, Dtype.I8);
    var after = inside;
    long before = Ops.LiveHandles();
    var body = AwaitIn(begin, pending.Task, () => inside = Modes(), () => after = Modes());
    Suite.Equal(Modes(), none);
    OnAnotherThread(() => {
      pending.SetResult(true);
      Suite.Equal(Modes(), none);
    });
    body.GetAwaiter().GetResult();
    Suite.Equal(inside, modes);
    Suite.Equal(after, none);
    Suite.Equal(Ops.LiveHandles(), before);
  }

  static void AnAwaitThatDoesNotWaitLeavesTheScope() {
    var inside = none;
    AwaitIn(Ops.NoGrad, Task.CompletedTask, () => inside = Modes(), () => {}).GetAwaiter().GetResult();
    Suite.Equal(inside, inNoGrad);
    Suite.Equal(Modes(), none);
  }

  static void ScopesAroundAnAsyncMethodActInItAndAfterIt() {
    var pending = new TaskCompletionSource<bool>();
    var inside = none;
    using (Ops.NoGrad()) {
      var body = AwaitIn(() => Ops.Autocast(Dtype.BF16), pending.Task, () => inside = Modes(), () => {});
      Suite.Equal(Modes(), inNoGrad);
      OnAnotherThread(() => pending.SetResult(true));
      body.GetAwaiter().GetResult();
      Suite.Equal(inside, (false, Dtype.BF16));
      Suite.Equal(Modes(), inNoGrad);
    }
    Suite.Equal(Modes(), none);
  }

  static async Task<List<Tensor>> MakeInScope(Task task) {
    var made = new List<Tensor>();
    using (Scope.Begin()) {
      made.Add(Tensor.From(device, new[] {1f}));
      made.Add(Ops.Keep(Tensor.From(device, new[] {2f})));
      await task.ConfigureAwait(false);
      made.Add(Tensor.From(device, new[] {3f}));
      made.Add(Ops.Keep(Tensor.From(device, new[] {4f})));
      Ops.Keep(made[0]);
    }
    return made;
  }

  static void AScopeReleasesWhatWasMadeOnSeveralThreads() {
    var pending = new TaskCompletionSource<bool>();
    long before = Ops.LiveHandles();
    var body = MakeInScope(pending.Task);
    Suite.Equal(Ops.LiveHandles(), before + 2);
    OnAnotherThread(() => pending.SetResult(true));
    Suite.Equal(Ops.LiveHandles(), before + 3);
    var made = body.Result;
    Suite.Raises(Status.InvalidHandle, "", () => made[2].Item());
    Suite.Equal(made[0].Item() + made[1].Item() + made[3].Item(), 7.0);
    foreach (var one in made) one.Dispose();
    Suite.Equal(Ops.LiveHandles(), before);
  }

  static void TasksAndThreadsThatAreStartedInsideAreInside() {
    Tensor made = null;
    using (Scope.Begin())
    using (Ops.NoGrad()) {
      OnAnotherThread(() => {
        Suite.Equal(Modes(), inNoGrad);
        using (Ops.Autocast(Dtype.BF16)) Suite.Equal(Modes(), (false, Dtype.BF16));
        made = Tensor.From(device, new[] {1f});
      });
      Suite.Equal(made.Item(), 1.0);
      Suite.Equal(Task.Run(() => Modes()).Result, inNoGrad);
    }
    Suite.Raises(Status.InvalidHandle, "", () => made.Item());
    Suite.Equal(Task.Run(() => Modes()).Result, none);
  }

  static void ATaskFromOutsideDoesNotRunInAScope() {
    var seen = inNoGrad;
    var task = new Task(() => seen = Modes());
    using (Ops.NoGrad()) {
      task.RunSynchronously();
      Suite.Equal(Modes(), inNoGrad);
    }
    Suite.Equal(seen, none);
  }

  static void AScopeEndsOnAnyThreadAndInAnyOrder() {
    var outer = Ops.NoGrad();
    var inner = Ops.Autocast(Dtype.BF16);
    outer.Dispose();
    Suite.Equal(Modes(), inBf16);
    OnAnotherThread(inner.Dispose);
    Suite.Equal(Modes(), none);
    inner.Dispose();  // does nothing
    var objects = Scope.Begin();
    var made = Tensor.From(device, new[] {1f});
    OnAnotherThread(objects.Dispose);
    Suite.Raises(Status.InvalidHandle, "", () => made.Item());
    using (var other = Tensor.From(device, new[] {1f})) Suite.Equal(other.Item(), 1.0);
  }

  static async Task EndAsync(Scope scope, Task task) {
    await task.ConfigureAwait(false);
    scope.Dispose();
  }

  static void AScopeThatAnAsyncMethodEndsHasEndedForItsCaller() {
    var pending = new TaskCompletionSource<bool>();
    var body = EndAsync(Ops.NoGrad(), pending.Task);
    Suite.Equal(Modes(), inNoGrad);
    OnAnotherThread(() => pending.SetResult(true));
    body.GetAwaiter().GetResult();
    Suite.Equal(Modes(), none);
    Suite.Equal(Task.Run(() => Modes()).Result, none);
  }

  static async Task<Scope> BeginAsync(Task task) {
    var scope = Ops.NoGrad();
    await task.ConfigureAwait(false);
    return scope;
  }

  static void AScopeThatAnAsyncMethodReturnsReportsThatItDidNotAct() {
    var scope = BeginAsync(Task.CompletedTask).Result;
    Suite.Equal(Modes(), none);
    Suite.Raises(Status.State, "not inside", scope.Dispose);
    scope.Dispose();  // does nothing
    InHook(() => scope = Ops.NoGrad());
    Suite.Raises(Status.State, "not inside", scope.Dispose);
  }

  static void AThreadThatEndsInAScopeLosesNothing() {
    OnAnotherThread(() => {
      Ops.NoGrad();
      Ops.Autocast(Dtype.BF16);
    });
    Suite.Equal(Modes(), none);
  }

  /// <summary>Runs the function as a hook of a layer, and returns what it throws.</summary>
  static void InHook(Action run) {
    using (var layer = Module.Relu())
    using (var x = Tensor.From(device, new[] {1f}))
    using (layer.AddForwardHook((self, inputs, outputs) => {
      run();
      return null;
    })) layer.Forward(x).Dispose();
  }

  static void ACallbackEndsTheScopesThatItLeavesOpen() {
    using (Ops.NoGrad()) {
      InHook(() => {
        Ops.Autocast(Dtype.BF16);
        Suite.Equal(Modes(), (false, Dtype.BF16));
      });
      Suite.Equal(Modes(), inNoGrad);
    }
    Suite.Equal(Modes(), none);
  }

  static void ACallbackDoesNotEndAScopeAroundItsCall() {
    foreach (var begin in new Func<Scope>[] {Ops.NoGrad, Scope.Begin}) {
      using (var scope = begin()) {
        var modes = Modes();
        InHook(() => {
          using (Ops.Autocast(Dtype.BF16)) Suite.Raises(Status.State, "before the callback", scope.Dispose);
          Suite.Equal(Modes(), modes);
        });
        Suite.Equal(Modes(), modes);
      }
      Suite.Equal(Modes(), none);
    }
  }

  static void CodeFromOutsideThatACallbackRunsHasItsOwnModes() {
    var outside = ExecutionContext.Capture();
    var seen = new List<(bool, Dtype)>();
    using (Ops.NoGrad()) {
      InHook(() => {
        ExecutionContext.Run(outside, _ => {
          seen.Add(Modes());
          using (Ops.Autocast(Dtype.BF16)) InHook(() => seen.Add(Modes()));
          seen.Add(Modes());
        }, null);
        seen.Add(Modes());
      });
      seen.Add(Modes());
    }
    Suite.Check(seen.SequenceEqual(new[] {none, inBf16, none, inNoGrad, inNoGrad}), string.Join(" ", seen));
  }

  static void AnAwaitInACallbackLeavesItsModes() {
    var pending = new TaskCompletionSource<bool>();
    var inside = none;
    Task body = null;
    using (Ops.NoGrad()) {
      InHook(() => {
        body = AwaitIn(() => Ops.Autocast(Dtype.BF16), pending.Task, () => inside = Modes(), () => {});
        Suite.Equal(Modes(), inNoGrad);
      });
      OnAnotherThread(() => pending.SetResult(true));
      body.GetAwaiter().GetResult();
    }
    Suite.Equal(inside, (false, Dtype.BF16));
  }

  static void ABackwardKeepsItsModesInTheScopesOfItsHooks() {
    using (var x = Tensor.From(device, new[] {1f, 2f}, 1, 2)) {
      var seen = inNoGrad;
      x.RequiresGrad = true;
      using (x.AddGradientHook(gradient => {
        using (Ops.Autocast(Dtype.BF16)) seen = Modes();
        return null;
      }))
      using (var loss = x.Sum()) loss.Backward();
      Suite.Equal(seen, (false, Dtype.BF16));  // a backward does not record
    }
  }

  static void TheStateOfAnObjectEndsOnAnyThread() {
    using (var group = new Group(device, "single"))
    using (var layer = Module.Linear(device, 2, 1))
    using (var replicated = new DistributedDataParallel(layer, group))
    using (var x = Tensor.From(device, new[] {1f, 2f}, 1, 2)) {
      int reductions = 0;
      replicated.SetReduction((bucket, index) => ++reductions);
      var scope = replicated.NoSync();
      Backward(layer, x);
      Suite.Equal(reductions, 0);
      OnAnotherThread(scope.Dispose);
      Backward(layer, x);
      Suite.Equal(reductions, 1);
    }
  }

  static void Backward(Module layer, Tensor x) {
    using (Scope.Begin()) layer.Forward(x).Sum().Backward();
  }

  static OperationCanceledException Cancelled(Action call) {
    try {
      call();
    } catch (OperationCanceledException cancelled) {
      return cancelled;
    }
    throw new Exception("nothing was thrown");
  }

  static void ACancelledTokenEndsTheCallsInsideAlone() {
    var outside = ExecutionContext.Capture();
    using (var stop = new CancellationTokenSource())
    using (var other = new CancellationTokenSource()) {
      using (Ops.Cancellation(other.Token)) {
        using (Ops.Cancellation(stop.Token)) {
          Suite.Equal(Modes(), none);
          stop.Cancel();
          Suite.Equal(Cancelled(() => Modes()).CancellationToken, stop.Token);
          OnAnotherThread(() => Cancelled(() => Modes()));
          ExecutionContext.Run(outside, _ => Suite.Equal(Modes(), none), null);
        }
        Suite.Equal(Modes(), none);
      }
      using (Ops.Cancellation(stop.Token)) Cancelled(() => Modes());
      Suite.Equal(Modes(), none);
    }
  }

  static void ACallThatWaitsIsCancelled() {
    using (var stop = new CancellationTokenSource())
    using (var isInside = new ManualResetEventSlim())
    using (var context = Context.DefaultContext())
    using (var store = Store.Memory(context)) {
      var task = Task.Run(() => {
        using (Ops.Cancellation(stop.Token)) {
          isInside.Set();
          store.Get("no such key", 1e6);
        }
      }, stop.Token);
      isInside.Wait();
      stop.Cancel();
      try {
        task.Wait();
      } catch (AggregateException) {
        Suite.Check(task.IsCanceled, task.Exception);
        return;
      }
      throw new Exception("nothing was thrown");
    }
  }

  /// <summary>Threads that continue async methods; each hop goes to another one.</summary>
  sealed class Threads : IDisposable {
    readonly System.Collections.Concurrent.BlockingCollection<Action>[] queues;
    readonly Thread[] threads;
    public Exception Wrong;

    public Threads(int count) {
      queues = Enumerable.Range(0, count)
          .Select(_ => new System.Collections.Concurrent.BlockingCollection<Action>()).ToArray();
      threads = queues.Select(queue => new Thread(() => Run(queue))).ToArray();
      foreach (var thread in threads) thread.Start();
    }

    void Run(System.Collections.Concurrent.BlockingCollection<Action> queue) {
      foreach (var action in queue.GetConsumingEnumerable()) {
        try {
          action();
          Suite.Equal(Modes(), none);
        } catch (Exception error) {
          Wrong = error;
        }
      }
    }

    public Hop To(int index) { return new Hop(queues[index % queues.Length]); }

    public void Dispose() {
      foreach (var queue in queues) queue.CompleteAdding();
      foreach (var thread in threads) thread.Join();
    }
  }

  struct Hop : System.Runtime.CompilerServices.INotifyCompletion {
    readonly System.Collections.Concurrent.BlockingCollection<Action> queue;

    public Hop(System.Collections.Concurrent.BlockingCollection<Action> queue) {
      this.queue = queue;
    }

    public Hop GetAwaiter() { return this; }

    public bool IsCompleted => false;

    public void OnCompleted(Action continuation) { queue.Add(continuation); }

    public void GetResult() {}
  }

  const int Depth = 4;

  // Begins a mode, hops, and goes on inside, some of the time in two methods at once.
  static async Task Storm(Threads threads, int seed, int depth, (bool Records, Dtype Dtype) modes) {
    var random = new Random(seed);
    await threads.To(random.Next(100));
    Suite.Equal(Modes(), modes);
    if (depth == Depth) return;
    for (int round = 0; round < 2; ++round) {
      var casts = new[] {Dtype.F32, Dtype.F16, Dtype.BF16};
      int kind = random.Next(5);
      var inside = kind == 0 ? (false, modes.Dtype) : kind == 1 ? modes : (modes.Records, casts[kind - 2]);
      using (kind == 0 ? Ops.NoGrad() : kind == 1 ? Scope.Begin() : Ops.Autocast(casts[kind - 2])) {
        Suite.Equal(Modes(), inside);
        var first = Storm(threads, random.Next(), depth + 1, inside);
        if (random.Next(2) == 0) await first;
        var second = Storm(threads, random.Next(), depth + 1, inside);
        Suite.Equal(Modes(), inside);
        await threads.To(random.Next(100));
        Suite.Equal(Modes(), inside);
        await Task.WhenAll(first, second).ConfigureAwait(false);
        if (kind == 1) GC.KeepAlive(Tensor.From(device, new[] {1f}));  // the scope releases it
      }
      Suite.Equal(Modes(), modes);
    }
  }

  static void AStormOfTasksWithTheirOwnModes() {
    long before = Ops.LiveHandles();
    using (var threads = new Threads(4)) {
      var storms = Enumerable.Range(0, 40).Select(seed => Storm(threads, seed, 0, none)).ToArray();
      Suite.Equal(Modes(), none);
      Task.WaitAll(storms);
      Suite.Check(threads.Wrong == null, threads.Wrong);
    }
    Suite.Equal(Modes(), none);
    Suite.Equal(Ops.LiveHandles(), before);
  }

  static int Main() {
    var suite = new Suite();
    suite.Test("AStormOfTasksWithTheirOwnModes", AStormOfTasksWithTheirOwnModes);
    suite.Test("AModeEndsWithItsScope", AModeEndsWithItsScope);
    suite.Test("APolicyMayBeDisposedOfInItsScope", APolicyMayBeDisposedOfInItsScope);
    suite.Test("AModeGoesAlongWithAnAwaitAndLeavesItsThread", AModeGoesAlongWithAnAwaitAndLeavesItsThread);
    suite.Test("AnAwaitThatDoesNotWaitLeavesTheScope", AnAwaitThatDoesNotWaitLeavesTheScope);
    suite.Test("ScopesAroundAnAsyncMethodActInItAndAfterIt", ScopesAroundAnAsyncMethodActInItAndAfterIt);
    suite.Test("AScopeReleasesWhatWasMadeOnSeveralThreads", AScopeReleasesWhatWasMadeOnSeveralThreads);
    suite.Test("TasksAndThreadsThatAreStartedInsideAreInside", TasksAndThreadsThatAreStartedInsideAreInside);
    suite.Test("ATaskFromOutsideDoesNotRunInAScope", ATaskFromOutsideDoesNotRunInAScope);
    suite.Test("AScopeEndsOnAnyThreadAndInAnyOrder", AScopeEndsOnAnyThreadAndInAnyOrder);
    suite.Test("AScopeThatAnAsyncMethodEndsHasEndedForItsCaller", AScopeThatAnAsyncMethodEndsHasEndedForItsCaller);
    suite.Test("AScopeThatAnAsyncMethodReturnsReportsThatItDidNotAct",
               AScopeThatAnAsyncMethodReturnsReportsThatItDidNotAct);
    suite.Test("AThreadThatEndsInAScopeLosesNothing", AThreadThatEndsInAScopeLosesNothing);
    suite.Test("ACallbackEndsTheScopesThatItLeavesOpen", ACallbackEndsTheScopesThatItLeavesOpen);
    suite.Test("ACallbackDoesNotEndAScopeAroundItsCall", ACallbackDoesNotEndAScopeAroundItsCall);
    suite.Test("CodeFromOutsideThatACallbackRunsHasItsOwnModes", CodeFromOutsideThatACallbackRunsHasItsOwnModes);
    suite.Test("AnAwaitInACallbackLeavesItsModes", AnAwaitInACallbackLeavesItsModes);
    suite.Test("ABackwardKeepsItsModesInTheScopesOfItsHooks", ABackwardKeepsItsModesInTheScopesOfItsHooks);
    suite.Test("ACancelledTokenEndsTheCallsInsideAlone", ACancelledTokenEndsTheCallsInsideAlone);
    suite.Test("ACallThatWaitsIsCancelled", ACallThatWaitsIsCancelled);
    suite.Test("TheStateOfAnObjectEndsOnAnyThread", TheStateOfAnObjectEndsOnAnyThread);
    return suite.Finish();
  }
}
