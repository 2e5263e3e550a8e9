import org.halftone.Device;
import org.halftone.Dtype;
import org.halftone.Tensor;

/** As overhead.c, through the Java binding. */
public final class Overhead {
  private static final int ROUNDS = 400;
  private static final int CALLS = 2_000;

  public static void main(String[] arguments) {
    var device = new Device("cpu");
    var a = Tensor.zeros(device, Dtype.F32, 64, 64);
    var b = Tensor.zeros(device, Dtype.F32, 64, 64);
    double least = 1e9;
    for (int round = 0; round < ROUNDS; ++round) {
      long begin = System.nanoTime();
      for (int call = 0; call < CALLS; ++call) a.add(b).close();
      least = Math.min(least, (System.nanoTime() - begin) / (double) CALLS);
    }
    System.out.printf("Java: %.0f ns%n", least);
  }
}
