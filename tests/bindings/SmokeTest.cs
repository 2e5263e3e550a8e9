using System;
using System.Linq;
using Halftone;

/// <summary>The C# binding: create, fill, add, read and release tensors, and errors that become exceptions.</summary>
static class SmokeTest {
  /// <summary>Expects an exception of this kind, with the status and the text in its message.</summary>
  static void Raises<T>(Status status, string text, Action call) where T : HalftoneException {
    try {
      call();
    } catch (HalftoneException error) {
      Suite.Check(error is T, error.GetType() + " is no " + typeof(T));
      Suite.Check(error.Status == status, "status " + error.Status);
      Suite.Check(error.Message.Contains(text), error.Message);
      return;
    }
    throw new Exception("nothing was thrown");
  }

  static float[] Floats(Tensor tensor) {
    var values = new float[tensor.Numel];
    tensor.Read(values);
    return values;
  }

  static void ValuesAreRight(Device device) {
    foreach (var dtype in new[] {Dtype.F32, Dtype.F64, Dtype.BF16}) {
      using (var a = new Tensor(device, dtype, 2, 3))
      using (var b = new Tensor(device, dtype, 2, 3)) {
        a.Fill(1.5);
        b.Fill(-0.25);
        using (var c = a.Add(b)) {
          Suite.Check(Floats(c).SequenceEqual(Enumerable.Repeat(1.25f, 6)), "values");
          Suite.Check(c.Shape.SequenceEqual(new long[] {2, 3}) && c.Numel == 6, "shape");
          Suite.Check(c.Dtype == dtype, "dtype " + c.Dtype);
        }
      }
    }
  }

  static void ScalarAndEmptyTensors(Device device) {
    using (var scalar = new Tensor(device, Dtype.F32))
    using (var empty = new Tensor(device, Dtype.F32, 0, 3)) {
      scalar.Fill(7);
      Suite.Check(Floats(scalar).SequenceEqual(new[] {7f}) && scalar.Shape.Length == 0, "scalar");
      Suite.Check(Floats(empty).Length == 0 && empty.Shape.SequenceEqual(new long[] {0, 3}), "empty");
    }
  }

  static void ReadWritesNothingBehindTheTensor(Device device) {
    using (var tensor = new Tensor(device, Dtype.F32, 3)) {
      tensor.Fill(2);
      var values = new float[] {9, 9, 9, 9, 9};
      tensor.Read(values);
      Suite.Check(values.SequenceEqual(new float[] {2, 2, 2, 9, 9}), string.Join(" ", values));
    }
  }

  static void ShortAndMissingArraysAreErrors(Device device) {
    using (var tensor = new Tensor(device, Dtype.F32, 2)) {
      Raises<HalftoneException>(Status.BufferTooSmall, "htone_tensor_read", () => tensor.Read(new float[1]));
      Suite.IsMissing("values", () => tensor.Read<float>(null));
    }
  }

  static void ShapeMismatchNamesFunctionAndArgument(Device device) {
    using (var a = new Tensor(device, Dtype.F32, 2, 3))
    using (var b = new Tensor(device, Dtype.F32, 2, 4)) {
      a.Fill(0);
      b.Fill(0);
      Raises<ShapeMismatchException>(Status.ShapeMismatch, "htone_add", () => a.Add(b));
      Raises<InvalidArgumentException>(Status.ShapeMismatch, "b [2, 4]", () => a.Add(b));
    }
  }

  static void EachStatusHasItsKind(Device device) {
    Action negative = () => new Tensor(device, Dtype.F32, -1);
    Raises<InvalidArgumentException>(Status.InvalidArgument, "htone_tensor_create", negative);
    Action nine = () => new Tensor(device, Dtype.F32, new long[9]);
    Raises<InvalidArgumentException>(Status.InvalidArgument, "ndim", nine);
    Action huge = () => new Tensor(device, Dtype.F32, 1L << 50);
    Raises<OutOfNativeMemoryException>(Status.OutOfMemory, "htone_tensor_create", huge);
    Raises<HalftoneException>(Status.Device, "htone_device_create", () => new Device("no such device"));
  }

  static void ClosingTwiceIsHarmlessAndUseAfterCloseIsAnError(Device device) {
    var closed = new Tensor(device, Dtype.F32, 2);
    using (var alive = new Tensor(device, Dtype.F32, 2)) {
      long before = Ops.LiveHandles();
      closed.Dispose();
      closed.Dispose();
      Suite.Check(Ops.LiveHandles() == before - 1, "live handles " + Ops.LiveHandles());
      Suite.IsDisposed("Tensor", () => closed.Fill(1));
      Suite.IsDisposed("Tensor", () => alive.Add(closed));
      Suite.IsMissing("b", () => alive.Add(null));
    }
  }

  static void LeakedObjectsAreCollected(Device device) {
    for (int i = 0; i < 1000; ++i) new Tensor(device, Dtype.F32, 16).Fill(i);
  }

  static void EnumerationsAreThoseOfTheHeaders(Device device) {
    var statuses = (Status[])Enum.GetValues(typeof(Status));
    Suite.Check((int)Status.Ok == 0 && (int)Status.Internal == 17 && (int)Status.NotFinite == 18 && statuses.Length == 19, "Status");
    var dtypes = (Dtype[])Enum.GetValues(typeof(Dtype));
    Suite.Check((int)Dtype.F64 == 1 && (int)Dtype.Bool == 12 && dtypes.Length == 12, "Dtype");
  }

  // ClosingTwiceIsHarmless comes first: it counts handles, and an object that an earlier case has dropped may be released
  // at any time.
  static int Main() {
    var suite = new Suite();
    using (var device = new Device("cpu")) {
      Action<string, Action<Device>> test = (name, body) => suite.Test(name, () => body(device));
      test("ClosingTwiceIsHarmless", ClosingTwiceIsHarmlessAndUseAfterCloseIsAnError);
      test("ValuesAreRight", ValuesAreRight);
      test("ScalarAndEmptyTensors", ScalarAndEmptyTensors);
      test("ReadWritesNothingBehindTheTensor", ReadWritesNothingBehindTheTensor);
      test("ShortAndMissingArraysAreErrors", ShortAndMissingArraysAreErrors);
      test("ShapeMismatchNamesFunctionAndArgument", ShapeMismatchNamesFunctionAndArgument);
      test("EachStatusHasItsKind", EachStatusHasItsKind);
      test("LeakedObjectsAreCollected", LeakedObjectsAreCollected);
      test("EnumerationsAreThoseOfTheHeaders", EnumerationsAreThoseOfTheHeaders);
    }
    suite.Test("TheAssemblyHasTheVersionOfTheLibrary", () => Suite.Equal(
        typeof(Tensor).Assembly.GetName().Version.ToString(3), Ops.VersionString()));
    suite.Test("NoDeviceIsLost", () => new Device("cpu").Dispose());
    return suite.Finish();
  }
}
