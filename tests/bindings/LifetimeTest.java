import java.nio.file.Files;
import java.nio.file.Path;
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

  private static void droppedTensorsAreReleased() {
    Tensor x = Tensor.of(device, new float[] {1});
    for (int i = 0; i < 100_000; ++i) x.addScalar(1);
  }

  private static void droppedTensorsGiveTheirMemoryBack() throws Exception {
    Tensor x = Tensor.zeros(device, Dtype.F32, 1 << 20);
    long before = kilobytes("VmRSS");
    for (int i = 0; i < 500; ++i) x.addScalar(1);
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
      inside = outside.addScalar(1);
      kept = Halftone.keep(outside.addScalar(2));
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
        made[0] = x.addScalar(1);
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
      Suite.check(!x.addScalar(1).requiresGrad(), "recorded");
    }
    Suite.check(x.addScalar(1).requiresGrad(), "not recorded");
    try (Scope scope = Halftone.autocast(Dtype.BF16)) {
      Suite.equal(x.matmul(x.transpose(0, 1)).dtype(), Dtype.BF16);
    }
    Suite.equal(x.matmul(x.transpose(0, 1)).dtype(), Dtype.F32);
  }

  private static void aClosedObjectIsRefused() throws Exception {
    Tensor x = Tensor.of(device, new float[] {1});
    x.close();
    x.close();
    Suite.raises(Status.INVALID_HANDLE, "htone_add_scalar", () -> x.addScalar(1));
    Suite.raises(Status.INVALID_HANDLE, "", x::read);
  }

  public static void main(String[] arguments) throws InterruptedException {
    Suite suite = new Suite();
    suite.test("droppedTensorsGiveTheirMemoryBack", LifetimeTest::droppedTensorsGiveTheirMemoryBack);
    suite.test("droppedTensorsAreReleased", LifetimeTest::droppedTensorsAreReleased);
    suite.test("aScopeReleasesWhatWasMadeInside", LifetimeTest::aScopeReleasesWhatWasMadeInside);
    suite.test("scopesNestAndEndAfterAnException", LifetimeTest::scopesNestAndEndAfterAnException);
    suite.test("aModeEndsWithItsScope", LifetimeTest::aModeEndsWithItsScope);
    suite.test("aClosedObjectIsRefused", LifetimeTest::aClosedObjectIsRefused);
    suite.finish();
  }
}
