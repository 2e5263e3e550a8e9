import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;
import org.halftone.Device;
import org.halftone.Dtype;
import org.halftone.Halftone;
import org.halftone.HalftoneException;
import org.halftone.InvalidArgumentException;
import org.halftone.OutOfMemoryException;
import org.halftone.ShapeMismatchException;
import org.halftone.Status;
import org.halftone.Tensor;

/** The Java binding: create, fill, add, read and release tensors, and errors that become exceptions. Run by CTest. */
public final class SmokeTest {
  private interface Case {
    void run(Device device) throws Exception;
  }

  private static int passed;
  private static int failed;

  private static void check(boolean condition, String what) {
    if (!condition) throw new AssertionError(what);
  }

  /** Expects an exception of this kind, with the status and the text in its message. */
  private static void raises(Class<? extends HalftoneException> kind, Status status, String text, Runnable call) {
    try {
      call.run();
    } catch (HalftoneException error) {
      check(kind.isInstance(error), error + " is no " + kind.getSimpleName());
      check(error.status() == status, "status " + error.status());
      check(error.getMessage().contains(text), error.getMessage());
      return;
    }
    throw new AssertionError("nothing was thrown");
  }

  private static FloatBuffer directFloats(int count) {
    return ByteBuffer.allocateDirect(4 * count).order(ByteOrder.nativeOrder()).asFloatBuffer();
  }

  private static void valuesAreRight(Device device) {
    for (Dtype dtype : new Dtype[] {Dtype.F32, Dtype.F64, Dtype.BF16}) {
      try (Tensor a = new Tensor(device, dtype, 2, 3); Tensor b = new Tensor(device, dtype, 2, 3)) {
        a.fill(1.5);
        b.fill(-0.25);
        try (Tensor c = a.add(b)) {
          check(Arrays.equals(c.toFloatArray(), new float[] {1.25f, 1.25f, 1.25f, 1.25f, 1.25f, 1.25f}), "values");
          check(Arrays.equals(c.shape(), new long[] {2, 3}) && c.numel() == 6, "shape");
          check(c.dtype() == dtype, "dtype " + c.dtype());
        }
      }
    }
  }

  private static void scalarAndEmptyTensors(Device device) {
    try (Tensor scalar = new Tensor(device, Dtype.F32); Tensor empty = new Tensor(device, Dtype.F32, 0, 3)) {
      scalar.fill(7);
      check(Arrays.equals(scalar.toFloatArray(), new float[] {7}) && scalar.shape().length == 0, "scalar");
      check(empty.toFloatArray().length == 0 && Arrays.equals(empty.shape(), new long[] {0, 3}), "empty");
    }
  }

  private static void readFillsABufferFromItsPosition(Device device) {
    try (Tensor tensor = new Tensor(device, Dtype.F32, 2)) {
      tensor.fill(2);
      FloatBuffer values = directFloats(5);
      values.position(1);
      tensor.read(values);
      check(values.position() == 1, "the position moved");
      float[] all = new float[5];
      values.rewind();
      values.get(all);
      check(Arrays.equals(all, new float[] {0, 2, 2, 0, 0}), Arrays.toString(all));
    }
  }

  private static void readTakesBuffersOfAnyOrder(Device device) {
    try (Tensor tensor = new Tensor(device, Dtype.F32, 2)) {
      tensor.fill(3);
      FloatBuffer swapped = ByteBuffer.allocateDirect(8).order(ByteOrder.BIG_ENDIAN).asFloatBuffer();
      for (FloatBuffer buffer : new FloatBuffer[] {FloatBuffer.allocate(2), swapped}) {
        tensor.read(buffer);
        check(buffer.get(1) == 3 && buffer.position() == 0, buffer.toString());
      }
    }
  }

  private static void readWantsAWritableBufferThatIsLargeEnough(Device device) {
    try (Tensor tensor = new Tensor(device, Dtype.F32, 2)) {
      check(rejects(tensor, directFloats(2).asReadOnlyBuffer()), "a read-only buffer was accepted");
      Runnable small = () -> tensor.read(directFloats(1));
      raises(HalftoneException.class, Status.BUFFER_TOO_SMALL, "htone_tensor_read", small);
    }
  }

  private static boolean rejects(Tensor tensor, FloatBuffer buffer) {
    try {
      tensor.read(buffer);
    } catch (IllegalArgumentException error) {
      return true;
    }
    return false;
  }

  private static void shapeMismatchNamesFunctionAndArgument(Device device) {
    try (Tensor a = new Tensor(device, Dtype.F32, 2, 3); Tensor b = new Tensor(device, Dtype.F32, 2, 4)) {
      a.fill(0);
      b.fill(0);
      raises(ShapeMismatchException.class, Status.SHAPE_MISMATCH, "htone_add", () -> a.add(b));
      raises(InvalidArgumentException.class, Status.SHAPE_MISMATCH, "b [2, 4]", () -> a.add(b));
    }
  }

  private static void eachStatusHasItsKind(Device device) {
    Runnable negative = () -> new Tensor(device, Dtype.F32, -1);
    raises(InvalidArgumentException.class, Status.INVALID_ARGUMENT, "htone_tensor_create", negative);
    Runnable nine = () -> new Tensor(device, Dtype.F32, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    raises(InvalidArgumentException.class, Status.INVALID_ARGUMENT, "ndim", nine);
    Runnable huge = () -> new Tensor(device, Dtype.F32, 1L << 50);
    raises(OutOfMemoryException.class, Status.OUT_OF_MEMORY, "htone_tensor_create", huge);
    raises(HalftoneException.class, Status.DEVICE, "htone_device_create", () -> new Device("no such device"));
  }

  /** Java's native strings encode a zero character in two bytes that are not valid UTF-8. */
  private static void textThatIsNoUtf8Survives(Device device) {
    raises(HalftoneException.class, Status.DEVICE, "htone_device_create", () -> new Device("a\0b"));
  }

  private static void closingTwiceIsHarmlessAndUseAfterCloseIsAnError(Device device) throws Exception {
    Tensor closed = new Tensor(device, Dtype.F32, 2);
    try (Tensor alive = new Tensor(device, Dtype.F32, 2)) {
      long before = Halftone.liveHandles();
      closed.close();
      closed.close();
      check(Halftone.liveHandles() == before - 1, "live handles " + Halftone.liveHandles());
      Suite.isClosed("Tensor", () -> closed.fill(1));
      Suite.isClosed("Tensor", () -> alive.add(closed));
      Suite.isMissing("b", () -> alive.add(null));
    }
  }

  private static void leakedObjectsAreCollected(Device device) throws InterruptedException {
    long before = Halftone.liveHandles();
    for (int i = 0; i < 1000; ++i) new Tensor(device, Dtype.F32, 16).fill(i);
    check(Suite.collectedTo(before), "live handles " + Halftone.liveHandles() + ", before " + before);
  }

  private static void enumerationsAreThoseOfTheHeaders(Device device) {
    check(Status.OK.value() == 0 && Status.INTERNAL.value() == 17 && Status.NOT_FINITE.value() == 18 && Status.values().length == 19, "Status");
    check(Dtype.F64.value() == 1 && Dtype.BOOL.value() == 12 && Dtype.values().length == 12, "Dtype");
  }

  /** Compiled code detects null by a fault, which the JVM's own SIGSEGV handler turns into an exception. */
  private static int lengthOf(int[] values) {
    return values.length;
  }

  private static void nullPointerArrives(String when) {
    int sum = 0;
    int[] some = new int[3];
    for (int i = 0; i < 100_000; ++i) sum += lengthOf(some);
    check(sum == 300_000, "lengths");
    try {
      lengthOf(null);
    } catch (NullPointerException expected) {
      return;
    }
    throw new AssertionError("no NullPointerException " + when);
  }

  private static void addUntilInterrupted(Device device) {
    try (Tensor a = new Tensor(device, Dtype.F32, 400, 1000)) {
      while (!Thread.currentThread().isInterrupted()) a.add(a).close();
    }
  }

  private static void h1NullPointersArriveAroundWork(Device device) throws InterruptedException {
    nullPointerArrives("before work");
    Thread worker = new Thread(() -> addUntilInterrupted(device));
    worker.start();
    for (int i = 0; i < 20; ++i) nullPointerArrives("during work");
    worker.interrupt();
    worker.join();
    nullPointerArrives("after work");
  }

  private static void test(String name, Device device, Case body) {
    try {
      body.run(device);
      ++passed;
    } catch (Exception | AssertionError error) {
      ++failed;
      System.out.println("FAILED " + name + ": " + error);
    }
  }

  private static void runAll(Device device) {
    // First, as it counts handles: an object that an earlier case has dropped may be released at any time.
    test("closingTwiceIsHarmless", device, SmokeTest::closingTwiceIsHarmlessAndUseAfterCloseIsAnError);
    test("valuesAreRight", device, SmokeTest::valuesAreRight);
    test("scalarAndEmptyTensors", device, SmokeTest::scalarAndEmptyTensors);
    test("readFillsABufferFromItsPosition", device, SmokeTest::readFillsABufferFromItsPosition);
    test("readTakesBuffersOfAnyOrder", device, SmokeTest::readTakesBuffersOfAnyOrder);
    test("readWantsAWritableBufferThatIsLargeEnough", device, SmokeTest::readWantsAWritableBufferThatIsLargeEnough);
    test("shapeMismatchNamesFunctionAndArgument", device, SmokeTest::shapeMismatchNamesFunctionAndArgument);
    test("eachStatusHasItsKind", device, SmokeTest::eachStatusHasItsKind);
    test("textThatIsNoUtf8Survives", device, SmokeTest::textThatIsNoUtf8Survives);
    test("leakedObjectsAreCollected", device, SmokeTest::leakedObjectsAreCollected);
    test("h1NullPointersArriveAroundWork", device, SmokeTest::h1NullPointersArriveAroundWork);
    test("enumerationsAreThoseOfTheHeaders", device, SmokeTest::enumerationsAreThoseOfTheHeaders);
  }

  public static void main(String[] arguments) {
    try (Device device = new Device("cpu")) {
      runAll(device);
    }
    test("no handle is alive at the end", null, none -> check(Suite.collectedTo(0), Halftone.liveHandles() + " are"));
    System.out.println(passed + " passed, " + failed + " failed");
    System.exit(failed == 0 ? 0 : 1);
  }
}
