using System;
using System.Buffers;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Halftone;

/// <summary>When the C# binding releases objects, and how much memory it needs.</summary>
static class LifetimeTest {
  static readonly Device device = new Device("cpu");

  static long Kilobytes(string row) {
    string line = File.ReadAllLines("/proc/self/status").First(one => one.StartsWith(row));
    return long.Parse(string.Concat(line.Where(char.IsDigit)));
  }

  static void DroppedTensorsAreReleased() {
    var x = Tensor.From(device, new[] {1f});
    for (int i = 0; i < 100000; ++i) x.Add(1);
  }

  static void DroppedTensorsGiveTheirMemoryBack() {
    var x = Tensor.Zeros(device, Dtype.F32, 1 << 20);
    long before = Kilobytes("VmRSS");
    for (int i = 0; i < 500; ++i) x.Add(1);
    long grown = (Kilobytes("VmHWM") - before) >> 10;
    Console.WriteLine("500 dropped tensors of 4 MB: " + grown + " MB");
    Suite.Check(grown < 200, grown + " MB");
  }

  static void AScopeReleasesWhatWasMadeInside() {
    long before = Ops.LiveHandles();
    var outside = Tensor.From(device, new[] {1f});
    Tensor inside, kept;
    using (Scope.Begin()) {
      inside = outside + 1;
      kept = Ops.Keep(outside + 2);
      Suite.Equal(Ops.LiveHandles(), before + 4);  // with the scope
    }
    Suite.Equal(Ops.LiveHandles(), before + 2);
    Suite.Equal(kept.Item(), 3.0);
    Suite.Raises(Status.InvalidHandle, "htone_tensor_item", () => inside.Item());
    kept.Dispose();
    outside.Dispose();
  }

  static void ScopesNestAndEndAfterAnException() {
    using (Scope.Begin()) {
      var x = Tensor.From(device, new[] {1f});
      Tensor made = null;
      try {
        using (Scope.Begin()) {
          made = x + 1;
          throw new InvalidOperationException();
        }
      } catch (InvalidOperationException) {
        Suite.Equal(x.Item(), 1.0);
      }
      Suite.Raises(Status.InvalidHandle, "", () => made.Item());
    }
  }

  static void AModeEndsWithItsScope() {
    var x = Tensor.From(device, new[] {1f, 2f}, 1, 2);
    x.RequiresGrad = true;
    using (Ops.NoGrad()) Suite.Check(!(x + 1).RequiresGrad, "recorded");
    Suite.Check((x + 1).RequiresGrad, "not recorded");
    using (Ops.Autocast(Dtype.BF16)) Suite.Equal(x.Matmul(x.Transpose(0, 1)).Dtype, Dtype.BF16);
    Suite.Equal(x.Matmul(x.Transpose(0, 1)).Dtype, Dtype.F32);
  }

  /// <summary>Runs the call on another thread, where it must fail with STATE.</summary>
  static void FailsOnAnotherThread(Action call) {
    Exception thrown = null;
    OnAnotherThread(() => {
      try {
        Suite.Raises(Status.State, "another thread", call);
      } catch (Exception error) {
        thrown = error;
      }
    });
    if (thrown != null) throw thrown;
  }

  static void OnAnotherThread(ThreadStart call) {
    var thread = new Thread(call);
    thread.Start();
    thread.Join();
  }

  static bool Records() {
    var x = Tensor.From(device, new[] {1f});
    x.RequiresGrad = true;
    return (x + 1).RequiresGrad;
  }

  static void AModeThatAnotherThreadDisposesOfEndsAtItsThreadsNextCall() {
    var mode = Ops.NoGrad();
    Suite.Check(!Records(), "recorded");
    FailsOnAnotherThread(mode.Dispose);
    Suite.Check(Records(), "not recorded");
    mode.Dispose();  // does nothing
    FailsOnAnotherThread(Ops.Autocast(Dtype.BF16).Dispose);
    var x = Tensor.From(device, new[] {1f, 2f}, 1, 2);
    Suite.Equal(x.Matmul(x.Transpose(0, 1)).Dtype, Dtype.F32);
  }

  static void AScopeThatAnotherThreadDisposesOfIsDisposedOf() {
    var scope = Scope.Begin();
    var inside = Tensor.From(device, new[] {1f});
    FailsOnAnotherThread(scope.Dispose);
    Suite.Raises(Status.InvalidHandle, "", () => inside.Item());
    scope.Dispose();  // does nothing
    using (Scope.Begin()) using (Scope.Begin()) Records();
  }

  static void AModeThatEndsOutOfOrderEndsAfterTheInnerScope() {
    var mode = Ops.NoGrad();
    using (Scope.Begin()) Suite.Raises(Status.State, "end the inner ones first", mode.Dispose);
    Suite.Check(Records(), "not recorded");
  }

  // The continuation runs on the thread that completes the task.
  static async Task AwaitIn(Func<Scope> begin, Task task, Action continuation) {
    using (begin()) {
      await task.ConfigureAwait(false);
      continuation();
    }
  }

  static void AScopeDoesNotOutliveAnAwaitOnItsThread() {
    foreach (var begin in new Func<Scope>[] {Ops.NoGrad, () => Ops.Autocast(Dtype.BF16), Scope.Begin}) {
      var pending = new TaskCompletionSource<bool>();
      bool hasContinued = false;
      long before = Ops.LiveHandles();
      var body = AwaitIn(begin, pending.Task, () => hasContinued = true);
      Suite.Equal(Ops.LiveHandles(), before);  // the scope ended as its thread went on
      Suite.Check(Records(), "not recorded");
      OnAnotherThread(() => pending.SetResult(true));
      Suite.Check(hasContinued && body.IsFaulted, "the end of the block did not tell");
      Suite.Raises(Status.State, "await", () => body.GetAwaiter().GetResult());
      Suite.Check(Records(), "not recorded");
    }
  }

  static void AnAwaitThatDoesNotWaitLeavesTheScope() {
    bool records = true;
    AwaitIn(Ops.NoGrad, Task.CompletedTask, () => records = Records()).GetAwaiter().GetResult();
    Suite.Check(!records, "recorded");
    Suite.Check(Records(), "not recorded");
  }

  static void ACallWithAnAwaitLeavesTheScopesAroundIt() {
    var pending = new TaskCompletionSource<bool>();
    using (Ops.NoGrad()) {
      var body = AwaitIn(Scope.Begin, pending.Task, () => {});
      Suite.Check(!Records(), "recorded");
      OnAnotherThread(() => pending.SetResult(true));
      Suite.Check(!Records(), "recorded");
      Suite.Check(body.IsFaulted, "the end of the block did not tell");
      Suite.Raises(Status.State, "await", () => body.GetAwaiter().GetResult());
    }
    Suite.Check(Records(), "not recorded");
  }

  static void ATaskOfOtherWorkDoesNotRunInAScope() {
    bool records = false;
    var task = new Task(() => records = Records());
    var scope = Ops.NoGrad();
    task.RunSynchronously();
    Suite.Check(records, "not recorded");
    Suite.Raises(Status.State, "a task that was made outside", scope.Dispose);
  }

  static void AThreadDoesNotInheritAScope() {
    using (Ops.NoGrad()) {
      bool records = false;
      OnAnotherThread(() => {
        records = Records();
        using (Ops.NoGrad()) {}
      });
      Suite.Check(records, "not recorded");
      Suite.Check(!Records(), "recorded");
    }
  }

  static long InUse() { return device.MemoryStats().Current; }

  static void MemoryOfATensorOutlivesIt() {
    long before = InUse();
    IMemoryOwner<float> scoped, disposed;
    using (Scope.Begin()) scoped = Tensor.From(device, new[] {1f, 2f, 3f, 4f}).Lend<float>();
    using (var x = Tensor.From(device, new[] {5f, 6f})) disposed = x.Lend<float>();
    Suite.Check(InUse() > before, "the memory is free");
    var others = Enumerable.Range(0, 100).Select(_ => Tensor.From(device, new[] {9f, 9f, 9f, 9f})).ToArray();
    Suite.Check(scoped.Memory.ToArray().SequenceEqual(new[] {1f, 2f, 3f, 4f}), "other values");
    Suite.Check(disposed.Memory.ToArray().SequenceEqual(new[] {5f, 6f}), "other values");
    scoped.Memory.Span.Fill(7);
    Suite.Check(others.All(other => other.ToArray<float>().All(value => value == 9)), "another tensor was written");
    foreach (var other in others) other.Dispose();
    var memory = scoped.Memory;
    scoped.Dispose();
    scoped.Dispose();
    disposed.Dispose();
    Suite.Equal(InUse(), before);
    try {
      Suite.Equal(memory.Span.Length, 4);
    } catch (ObjectDisposedException) {
      return;
    }
    throw new Exception("memory that was released was lent");
  }

  static void PinnedMemoryIsReleasedByTheLastPin() {
    long before = InUse();
    var x = Tensor.From(device, new[] {1f, 2f});
    var lent = x.Lend<float>();
    x.Dispose();
    var pin = lent.Memory.Pin();
    lent.Dispose();
    Suite.Check(InUse() > before, "the memory is free");
    pin.Dispose();
    Suite.Equal(InUse(), before);
  }

  static void ADisposedTensorLendsNothing() {
    var x = Tensor.From(device, new[] {1f});
    x.Dispose();
    Suite.IsDisposed("Tensor", () => x.AsSpan<float>());
    Suite.IsDisposed("Tensor", () => x.Lend<float>());
    Tensor scoped;
    using (Scope.Begin()) scoped = Tensor.From(device, new[] {1f});
    Suite.Raises(Status.InvalidHandle, "", () => scoped.Lend<float>());
    Suite.Raises(Status.InvalidHandle, "", () => scoped.AsSpan<float>());
  }

  static void ADisposedObjectIsRefused() {
    var x = Tensor.From(device, new[] {1f});
    x.Dispose();
    x.Dispose();
    Suite.IsDisposed("Tensor", () => x.Add(1));
    Suite.IsDisposed("Tensor", () => x.ToArray<float>());
    Suite.IsDisposed("Tensor", () => Ops.Cat(new[] {x}, 0));
    Suite.IsDisposed("Tensor", () => Ops.Keep(x));
    var scaler = new GradScaler(device);
    scaler.Dispose();
    Suite.IsDisposed("GradScaler", () => scaler.Update());
  }

  static readonly List<Tensor> lost = new List<Tensor>();
  static Tensor kept;

  /// <summary>The suite itself: one kept object is no loss, and one object of each run is.</summary>
  static void OnlyObjectsThatBecomeMoreAreLost() {
    var error = Suite.Lost(() => { kept = Tensor.From(device, new[] {1f}); }, 3);
    Suite.Check(error == null, error);
    error = Suite.Lost(() => lost.Add(Tensor.From(device, new[] {1f})), 3);
    Suite.Check(error != null && error.Message.Contains("live handles"), "nothing was lost");
    kept.Dispose();
    lost.ForEach(tensor => tensor.Dispose());
    lost.Clear();
  }

  // The cases that count handles come first: an object that an earlier one has dropped may be released at any time.
  static int Main() {
    var suite = new Suite();
    suite.Test("AScopeReleasesWhatWasMadeInside", AScopeReleasesWhatWasMadeInside);
    suite.Test("OnlyObjectsThatBecomeMoreAreLost", OnlyObjectsThatBecomeMoreAreLost);
    suite.Test("DroppedTensorsGiveTheirMemoryBack", DroppedTensorsGiveTheirMemoryBack);
    suite.Test("DroppedTensorsAreReleased", DroppedTensorsAreReleased);
    suite.Test("ScopesNestAndEndAfterAnException", ScopesNestAndEndAfterAnException);
    suite.Test("AModeEndsWithItsScope", AModeEndsWithItsScope);
    suite.Test("AModeThatAnotherThreadDisposesOfEndsAtItsThreadsNextCall",
               AModeThatAnotherThreadDisposesOfEndsAtItsThreadsNextCall);
    suite.Test("AScopeThatAnotherThreadDisposesOfIsDisposedOf", AScopeThatAnotherThreadDisposesOfIsDisposedOf);
    suite.Test("AModeThatEndsOutOfOrderEndsAfterTheInnerScope", AModeThatEndsOutOfOrderEndsAfterTheInnerScope);
    suite.Test("AScopeDoesNotOutliveAnAwaitOnItsThread", AScopeDoesNotOutliveAnAwaitOnItsThread);
    suite.Test("AnAwaitThatDoesNotWaitLeavesTheScope", AnAwaitThatDoesNotWaitLeavesTheScope);
    suite.Test("ACallWithAnAwaitLeavesTheScopesAroundIt", ACallWithAnAwaitLeavesTheScopesAroundIt);
    suite.Test("ATaskOfOtherWorkDoesNotRunInAScope", ATaskOfOtherWorkDoesNotRunInAScope);
    suite.Test("AThreadDoesNotInheritAScope", AThreadDoesNotInheritAScope);
    suite.Test("MemoryOfATensorOutlivesIt", MemoryOfATensorOutlivesIt);
    suite.Test("PinnedMemoryIsReleasedByTheLastPin", PinnedMemoryIsReleasedByTheLastPin);
    suite.Test("ADisposedTensorLendsNothing", ADisposedTensorLendsNothing);
    suite.Test("ADisposedObjectIsRefused", ADisposedObjectIsRefused);
    return suite.Finish();
  }
}
