import java.io.IOException;
import java.util.Arrays;
import org.halftone.Device;
import org.halftone.Tensor;

/** Shared by the tests of functions that the library calls: a function that throws, and small tensors. */
abstract class Callbacks {
  protected static final Device device = new Device("cpu");
  protected static volatile IOException broken;

  protected static <T> T wall() throws IOException {
    var made = new IOException("broken");
    if (broken == null) broken = made;
    throw made;
  }

  protected static Tensor tensor(float... values) {
    return Tensor.of(device, values);
  }

  protected static Tensor variable(float... values) {
    Tensor x = tensor(values);
    x.setRequiresGrad(true);
    return x;
  }

  protected static void same(Tensor actual, float... expected) {
    Suite.check(Arrays.equals(actual.toFloatArray(), expected), actual);
  }

  /** The exception is the first one of the callback itself, with its stack. */
  protected static void arrives(Suite.Case call) throws Exception {
    broken = null;
    try {
      call.run();
    } catch (IOException thrown) {
      Suite.check(thrown == broken, "another exception");
      Suite.check(Arrays.stream(thrown.getStackTrace()).anyMatch(row -> row.getMethodName().equals("wall")),
          "no stack");
      return;
    }
    throw new AssertionError("nothing was thrown");
  }
}
