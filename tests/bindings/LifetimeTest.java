import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.halftone.Device;
import org.halftone.Dtype;
import org.halftone.Halftone;
import org.halftone.Scope;
import org.halftone.Status;
import org.halftone.Tensor;

/** When the Java binding releases objects, and how much memory it needs. Run by CTest. */
public final class LifetimeTest {
  private static final Device device = new Device("cpu");

  private static long kilobytes(String row) throws Exception {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith(row)) return Long.parseLong(line.replaceAll("\\D", ""));
    }
    throw new AssertionError(row);
  }

  /** The end of each test waits until no handle is left of it. */
  private static void droppedTensorsAreReleased() throws InterruptedException {
    Tensor x = Tensor.of(device, new float[] {1});
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 4; ++i) threads.add(new Thread(() -> dropAndClose(x)));
    threads.forEach(Thread::start);
    for (Thread thread : threads) thread.join();
  }

  private static void dropAndClose(Tensor x) {
    for (int i = 0; i < 25_000; ++i) {
      x.add(1);
      x.add(2).close();
    }
  }

  private static void droppedTensorsGiveTheirMemoryBack() throws Exception {
    Tensor x = Tensor.zeros(device, Dtype.F32, 1 << 20);
    long before = kilobytes("VmRSS");
    for (int i = 0; i < 500; ++i) x.add(1);
    long grown = (kilobytes("VmHWM") - before) >> 10;
    System.out.println("500 dropped tensors of 4 MB: " + grown + " MB");
    Suite.check(grown < 200, grown + " MB");
  }

  private static void aScopeReleasesWhatWasMadeInside() throws Exception {
    long before = Halftone.liveHandles();
    Tensor outside = Tensor.of(device, new float[] {1});
    Tensor inside;
    Tensor kept;
    try (Scope scope = Scope.begin()) {
      inside = outside.add(1);
      kept = Halftone.keep(outside.add(2));
      Suite.equal(Halftone.liveHandles(), before + 4);  // with the scope
    }
    Suite.equal(Halftone.liveHandles(), before + 2);
    Suite.equal(kept.item(), 3.0);
    Tensor ended = inside;
    Suite.raises(Status.INVALID_HANDLE, "htone_tensor_item", ended::item);
    kept.close();
    outside.close();
  }

  private static void scopesNestAndEndAfterAnException() throws Exception {
    try (Scope outer = Scope.begin()) {
      Tensor x = Tensor.of(device, new float[] {1});
      Tensor[] made = new Tensor[1];
      try (Scope inner = Scope.begin()) {
        made[0] = x.add(1);
        throw new IllegalStateException();
      } catch (IllegalStateException expected) {
        Suite.equal(x.item(), 1.0);
      }
      Suite.raises(Status.INVALID_HANDLE, "", () -> made[0].item());
    }
  }

  private static void aModeEndsWithItsScope() {
    Tensor x = Tensor.of(device, new float[] {1, 2}, 1, 2);
    x.setRequiresGrad(true);
    try (Scope scope = Halftone.noGrad()) {
      Suite.check(!x.add(1).requiresGrad(), "recorded");
    }
    Suite.check(x.add(1).requiresGrad(), "not recorded");
    try (Scope scope = Halftone.autocast(Dtype.BF16)) {
      Suite.equal(x.matmul(x.transpose(0, 1)).dtype(), Dtype.BF16);
    }
    Suite.equal(x.matmul(x.transpose(0, 1)).dtype(), Dtype.F32);
  }

  /** Runs the call on another thread, where it must fail with STATE. */
  private static void failsOnAnotherThread(Suite.Case call) throws Exception {
    Throwable[] thrown = new Throwable[1];
    Thread thread = new Thread(() -> {
      try {
        Suite.raises(Status.STATE, "another thread", call);
      } catch (Exception | AssertionError error) {
        thrown[0] = error;
      }
    });
    thread.start();
    thread.join();
    if (thrown[0] != null) throw new AssertionError(thrown[0]);
  }

  private static boolean records() {
    Tensor x = Tensor.of(device, new float[] {1});
    x.setRequiresGrad(true);
    return x.add(1).requiresGrad();
  }

  private static void aModeThatAnotherThreadClosesEndsAtItsThreadsNextCall() throws Exception {
    Scope mode = Halftone.noGrad();
    Suite.check(!records(), "recorded");
    failsOnAnotherThread(mode::close);
    Suite.check(records(), "not recorded");
    mode.close(); // does nothing
    Scope autocast = Halftone.autocast(Dtype.BF16);
    failsOnAnotherThread(autocast::close);
    Tensor x = Tensor.of(device, new float[] {1, 2}, 1, 2);
    Suite.equal(x.matmul(x.transpose(0, 1)).dtype(), Dtype.F32);
  }

  private static void aScopeThatAnotherThreadClosesIsClosed() throws Exception {
    Scope scope = Scope.begin();
    Tensor inside = Tensor.of(device, new float[] {1});
    failsOnAnotherThread(scope::close);
    Suite.raises(Status.INVALID_HANDLE, "", inside::item);
    scope.close(); // does nothing
    try (Scope outer = Scope.begin(); Scope next = Scope.begin()) {
      records();
    }
  }

  private static void aModeThatEndsOutOfOrderEndsAfterTheInnerScope() throws Exception {
    Scope mode = Halftone.noGrad();
    try (Scope inner = Scope.begin()) {
      Suite.raises(Status.STATE, "end the inner ones first", mode::close);
    }
    Suite.check(records(), "not recorded");
  }

  private static void aClosedObjectIsRefused() throws Exception {
    Tensor x = Tensor.of(device, new float[] {1});
    x.close();
    x.close();
    Suite.isClosed("Tensor", () -> x.add(1));
    Suite.isClosed("Tensor", x::toFloatArray);
    Suite.isClosed("Tensor", () -> Halftone.cat(new Tensor[] {x}, 0));
    Suite.isClosed("Tensor", () -> Halftone.keep(x));
  }

  public static void main(String[] arguments) throws InterruptedException {
    Suite suite = new Suite();
    suite.test("droppedTensorsGiveTheirMemoryBack", LifetimeTest::droppedTensorsGiveTheirMemoryBack);
    suite.test("droppedTensorsAreReleased", LifetimeTest::droppedTensorsAreReleased);
    suite.test("aScopeReleasesWhatWasMadeInside", LifetimeTest::aScopeReleasesWhatWasMadeInside);
    suite.test("scopesNestAndEndAfterAnException", LifetimeTest::scopesNestAndEndAfterAnException);
    suite.test("aModeEndsWithItsScope", LifetimeTest::aModeEndsWithItsScope);
    suite.test("aModeThatAnotherThreadClosesEndsAtItsThreadsNextCall",
        LifetimeTest::aModeThatAnotherThreadClosesEndsAtItsThreadsNextCall);
    suite.test("aScopeThatAnotherThreadClosesIsClosed", LifetimeTest::aScopeThatAnotherThreadClosesIsClosed);
    suite.test("aModeThatEndsOutOfOrderEndsAfterTheInnerScope",
        LifetimeTest::aModeThatEndsOutOfOrderEndsAfterTheInnerScope);
    suite.test("aClosedObjectIsRefused", LifetimeTest::aClosedObjectIsRefused);
    suite.finish();
  }
}
