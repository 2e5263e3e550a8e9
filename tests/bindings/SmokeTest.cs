using System;
using System.Linq;
using System.Threading;
using Halftone;

/// <summary>The C# binding: create, fill, add, read and release tensors, and errors that become exceptions.</summary>
static class SmokeTest {
  static int passed;
  static int failed;

  static void Check(bool condition, string what) {
    if (!condition) throw new Exception(what);
  }

  /// <summary>Expects an exception of this kind, with the status and the text in its message.</summary>
  static void Raises<T>(Status status, string text, Action call) where T : HalftoneException {
    try {
      call();
    } catch (HalftoneException error) {
      Check(error is T, error.GetType() + " is no " + typeof(T));
      Check(error.Status == status, "status " + error.Status);
      Check(error.Message.Contains(text), error.Message);
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
          Check(Floats(c).SequenceEqual(Enumerable.Repeat(1.25f, 6)), "values");
          Check(c.Shape.SequenceEqual(new long[] {2, 3}) && c.Numel == 6, "shape");
          Check(c.Dtype == dtype, "dtype " + c.Dtype);
        }
      }
    }
  }

  static void ScalarAndEmptyTensors(Device device) {
    using (var scalar = new Tensor(device, Dtype.F32))
    using (var empty = new Tensor(device, Dtype.F32, 0, 3)) {
      scalar.Fill(7);
      Check(Floats(scalar).SequenceEqual(new[] {7f}) && scalar.Shape.Length == 0, "scalar");
      Check(Floats(empty).Length == 0 && empty.Shape.SequenceEqual(new long[] {0, 3}), "empty");
    }
  }

  static void ReadWritesNothingBehindTheTensor(Device device) {
    using (var tensor = new Tensor(device, Dtype.F32, 3)) {
      tensor.Fill(2);
      var values = new float[] {9, 9, 9, 9, 9};
      tensor.Read(values);
      Check(values.SequenceEqual(new float[] {2, 2, 2, 9, 9}), string.Join(" ", values));
    }
  }

  static void ShortAndMissingArraysAreErrors(Device device) {
    using (var tensor = new Tensor(device, Dtype.F32, 2)) {
      Raises<HalftoneException>(Status.BufferTooSmall, "htone_tensor_read", () => tensor.Read(new float[1]));
      try {
        tensor.Read<float>(null);
      } catch (ArgumentNullException) {
        return;
      }
      throw new Exception("nothing was thrown");
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
      Check(Ops.LiveHandles() == before - 1, "live handles " + Ops.LiveHandles());
      Raises<InvalidHandleException>(Status.InvalidHandle, "htone_tensor_fill", () => closed.Fill(1));
      Raises<InvalidHandleException>(Status.InvalidHandle, "htone_add", () => alive.Add(closed));
      Raises<InvalidHandleException>(Status.InvalidHandle, "htone_add", () => alive.Add(null));
    }
  }

  // The objects are made on a separate thread: Mono's collector treats any value on a live stack as a reference.
  static void LeakedObjectsAreCollected(Device device) {
    long before = Ops.LiveHandles();
    var leak = new Thread(() => {
      for (int i = 0; i < 1000; ++i) new Tensor(device, Dtype.F32, 16).Fill(i);
    });
    leak.Start();
    leak.Join();
    Check(CollectedTo(before), "live handles " + Ops.LiveHandles() + ", before " + before);
  }

  static bool CollectedTo(long handles) {
    for (int i = 0; i < 200 && Ops.LiveHandles() != handles; ++i) {
      GC.Collect();
      GC.WaitForPendingFinalizers();
      Thread.Sleep(20);
    }
    return Ops.LiveHandles() == handles;
  }

  static void EnumerationsAreThoseOfTheHeaders(Device device) {
    var statuses = (Status[])Enum.GetValues(typeof(Status));
    Check((int)Status.Ok == 0 && (int)Status.Internal == 17 && (int)Status.NotFinite == 18 && statuses.Length == 19, "Status");
    var dtypes = (Dtype[])Enum.GetValues(typeof(Dtype));
    Check((int)Dtype.F64 == 1 && (int)Dtype.Bool == 12 && dtypes.Length == 12, "Dtype");
  }

  static void Test(string name, Device device, Action<Device> body) {
    try {
      body(device);
      ++passed;
    } catch (Exception error) {
      ++failed;
      Console.WriteLine("FAILED " + name + ": " + error);
    }
  }

  static void RunAll(Device device) {
    Test("ValuesAreRight", device, ValuesAreRight);
    Test("ScalarAndEmptyTensors", device, ScalarAndEmptyTensors);
    Test("ReadWritesNothingBehindTheTensor", device, ReadWritesNothingBehindTheTensor);
    Test("ShortAndMissingArraysAreErrors", device, ShortAndMissingArraysAreErrors);
    Test("ShapeMismatchNamesFunctionAndArgument", device, ShapeMismatchNamesFunctionAndArgument);
    Test("EachStatusHasItsKind", device, EachStatusHasItsKind);
    Test("ClosingTwiceIsHarmless", device, ClosingTwiceIsHarmlessAndUseAfterCloseIsAnError);
    Test("LeakedObjectsAreCollected", device, LeakedObjectsAreCollected);
    Test("EnumerationsAreThoseOfTheHeaders", device, EnumerationsAreThoseOfTheHeaders);
  }

  static int Main() {
    using (var device = new Device("cpu")) RunAll(device);
    Test("no handle is alive at the end", null, none => Check(CollectedTo(0), Ops.LiveHandles() + " are"));
    Console.WriteLine(passed + " passed, " + failed + " failed");
    return failed == 0 ? 0 : 1;
  }
}
