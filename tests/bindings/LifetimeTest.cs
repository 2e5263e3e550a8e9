using System;
using System.Buffers;
using System.Collections.Generic;
using System.IO;
using System.Linq;
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
    using (Scope.Begin()) {
      for (int i = 0; i < 500; ++i) x.Add(1);  // a scope does not keep them from the collector
    }
    long grown = (Kilobytes("VmHWM") - before) >> 10;
    Console.WriteLine("1000 dropped tensors of 4 MB: " + grown + " MB");
    Suite.Check(grown < 200, grown + " MB");
  }

  static void AScopeReleasesWhatWasMadeInside() {
    long before = Ops.LiveHandles();
    var outside = Tensor.From(device, new[] {1f});
    Tensor inside, kept;
    using (Scope.Begin()) {
      inside = outside + 1;
      kept = Ops.Keep(outside + 2);
      Suite.Equal(Ops.LiveHandles(), before + 3);
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
    suite.Test("MemoryOfATensorOutlivesIt", MemoryOfATensorOutlivesIt);
    suite.Test("PinnedMemoryIsReleasedByTheLastPin", PinnedMemoryIsReleasedByTheLastPin);
    suite.Test("ADisposedTensorLendsNothing", ADisposedTensorLendsNothing);
    suite.Test("ADisposedObjectIsRefused", ADisposedObjectIsRefused);
    return suite.Finish();
  }
}
