using System;
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
    for (int i = 0; i < 100000; ++i) x.AddScalar(1);
  }

  static void DroppedTensorsGiveTheirMemoryBack() {
    var x = Tensor.Zeros(device, Dtype.F32, 1 << 20);
    long before = Kilobytes("VmRSS");
    for (int i = 0; i < 500; ++i) x.AddScalar(1);
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

  static void ADisposedObjectIsRefused() {
    var x = Tensor.From(device, new[] {1f});
    x.Dispose();
    x.Dispose();
    Suite.Raises(Status.InvalidHandle, "htone_add_scalar", () => x.AddScalar(1));
    Suite.Raises(Status.InvalidHandle, "", () => x.ToArray<float>());
  }

  static int Main() {
    var suite = new Suite();
    suite.Test("DroppedTensorsGiveTheirMemoryBack", DroppedTensorsGiveTheirMemoryBack);
    suite.Test("DroppedTensorsAreReleased", DroppedTensorsAreReleased);
    suite.Test("AScopeReleasesWhatWasMadeInside", AScopeReleasesWhatWasMadeInside);
    suite.Test("ScopesNestAndEndAfterAnException", ScopesNestAndEndAfterAnException);
    suite.Test("AModeEndsWithItsScope", AModeEndsWithItsScope);
    suite.Test("ADisposedObjectIsRefused", ADisposedObjectIsRefused);
    return suite.Finish();
  }
}
