import java.util.ArrayDeque;
import java.util.Random;
import org.halftone.Device;
import org.halftone.Dtype;
import org.halftone.Halftone;
import org.halftone.Scope;
import org.halftone.ScopeStack;
import org.halftone.Tensor;

/** A task that begins and ends scopes at random, part by part, and knows which modes it must find. */
final class ScopedTask implements AutoCloseable {
  static final Device device = new Device("cpu");

  private record Open(Scope scope, boolean records, Dtype dtype, Tensor temporary) {}

  private final Random random;
  private final ScopeStack stack = new ScopeStack();
  private final ArrayDeque<Open> open = new ArrayDeque<>();

  ScopedTask(long seed) {
    random = new Random(seed);
  }

  /** The modes of the thread are these. */
  static void expect(boolean records, Dtype dtype) {
    try (Tensor x = Tensor.of(device, new float[] {1}, 1, 1)) {
      x.setRequiresGrad(true);
      try (Tensor y = x.matmul(x)) {
        Suite.equal(y.dtype() + " " + y.requiresGrad(), dtype + " " + records);
      }
    }
  }

  /** Runs the next part on this thread. */
  void runPart() {
    stack.run(this::part);
  }

  private void part() {
    expectOwn();
    int choice = random.nextInt(6);
    if (choice < 2 && !open.isEmpty()) {
      end(open.pop());
    } else if (choice < 5) {
      open.push(begin(choice));
    }
    expectOwn();
  }

  private void expectOwn() {
    Open top = open.peek();
    expect(top == null || top.records, top == null ? Dtype.F32 : top.dtype);
    if (top != null && top.temporary != null) Suite.equal(top.temporary.item(), (double) open.size());
  }

  private Open begin(int choice) {
    boolean records = open.isEmpty() || open.peek().records;
    Dtype dtype = open.isEmpty() ? Dtype.F32 : open.peek().dtype;
    if (choice == 2) return new Open(Halftone.noGrad(), false, dtype, null);
    if (choice == 3) {
      Dtype other = new Dtype[] {Dtype.F32, Dtype.F16, Dtype.BF16}[random.nextInt(3)];
      return new Open(Halftone.autocast(other), records, other, null);
    }
    return new Open(Scope.begin(), records, dtype, Tensor.of(device, new float[] {open.size() + 1}));
  }

  private static void end(Open ended) {
    ended.scope.close();
    if (ended.temporary != null) Suite.check(ended.temporary.toString().contains("htone_tensor"), "alive");
  }

  /** Ends with the scopes that are open. */
  @Override
  public void close() {
    stack.close();
  }
}
