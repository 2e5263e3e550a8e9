import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.halftone.Block;
import org.halftone.CustomFunction;
import org.halftone.Dtype;
import org.halftone.Halftone;
import org.halftone.Scope;
import org.halftone.ScopeStack;
import org.halftone.Status;
import org.halftone.Tensor;

/** Virtual threads, which Java has since 21: newer_java_test.py runs this. */
public final class VirtualThreadsTest {
  private static final AtomicLong moves = new AtomicLong();

  /** Starts a virtual thread. The tests are compiled for Java 17, which has no such method. */
  private static Thread start(Suite.Case body, List<Throwable> wrong) throws ReflectiveOperationException {
    Runnable guarded = () -> {
      try {
        body.run();
      } catch (Throwable error) {
        wrong.add(error);
      }
    };
    return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, guarded);
  }

  private static void onVirtualThreads(int count, Suite.Case body) throws Exception {
    List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < count; ++i) threads.add(start(body, wrong));
    for (Thread thread : threads) thread.join();
    Suite.check(wrong.isEmpty(), wrong);
  }

  /** The thread of the system, which the text of a running virtual thread ends with. */
  private static String carrier() {
    String text = Thread.currentThread().toString();
    return text.substring(text.lastIndexOf('@') + 1);
  }

  private static void aStormOfTasksFindsItsModes() throws Exception {
    AtomicLong seeds = new AtomicLong();
    onVirtualThreads(100, () -> {
      try (ScopedTask task = new ScopedTask(seeds.getAndIncrement())) {
        for (int part = 0; part < 50; ++part) {
          String before = carrier();
          task.runPart();
          Suite.equal(carrier(), before);
          Thread.sleep(1);
          if (!carrier().equals(before)) moves.incrementAndGet();
        }
      }
    });
    System.out.println("virtual threads have changed their thread " + moves + " times");
  }

  private static void aPartThatWaitsStaysOnItsThread() throws Exception {
    onVirtualThreads(20, () -> {
      try (ScopeStack task = new ScopeStack()) {
        task.call(() -> {
          String before = carrier();
          Halftone.noGrad();
          Thread.sleep(1);
          Suite.equal(carrier(), before);
          ScopedTask.expect(false, Dtype.F32);
          return null;
        });
      }
    });
  }

  private static void aScopeOutsideOfAPartIsRefused() throws Exception {
    onVirtualThreads(1, () -> {
      Suite.raises(Status.STATE, "ScopeStack.run", Scope::begin);
      Suite.raises(Status.STATE, "ScopeStack.run", Halftone::noGrad);
      Suite.raises(Status.STATE, "ScopeStack.run", () -> Halftone.autocast(Dtype.BF16));
      ScopedTask.expect(true, Dtype.F32);
    });
  }

  private static void callbacksBeginScopes() throws Exception {
    Block layer = Block.relu();
    layer.addForwardPreHook((self, inputs) -> {
      try (Scope mode = Halftone.noGrad()) {
        Thread.sleep(1);
        ScopedTask.expect(false, Dtype.F32);
      }
      return null;
    });
    onVirtualThreads(20, () -> layer.forward(Tensor.of(ScopedTask.device, new float[] {1})).close());
  }

  private static final class Identity extends CustomFunction {
    @Override
    protected Tensor[] forward(Saved saved, Tensor[] inputs) throws Exception {
      Thread.sleep(1);
      ScopedTask.expect(false, Dtype.F32);
      return new Tensor[] {inputs[0].mul(1)};
    }

    @Override
    protected Tensor[] backward(Saved saved, Tensor[] gradients) {
      return gradients;
    }
  }

  private static void functionsOfTheProgramMayWait() throws Exception {
    onVirtualThreads(20, () -> {
      Tensor x = Tensor.of(ScopedTask.device, new float[] {1});
      x.setRequiresGrad(true);
      new Identity().apply(x)[0].sum().backward();
      ScopedTask.expect(true, Dtype.F32);
    });
  }

  public static void main(String[] arguments) throws InterruptedException {
    Suite suite = new Suite();
    ScopedTask.expect(true, Dtype.F32);
    suite.test("aStormOfTasksFindsItsModes", VirtualThreadsTest::aStormOfTasksFindsItsModes);
    suite.test("aPartThatWaitsStaysOnItsThread", VirtualThreadsTest::aPartThatWaitsStaysOnItsThread);
    suite.test("aScopeOutsideOfAPartIsRefused", VirtualThreadsTest::aScopeOutsideOfAPartIsRefused);
    suite.test("callbacksBeginScopes", VirtualThreadsTest::callbacksBeginScopes);
    suite.test("functionsOfTheProgramMayWait", VirtualThreadsTest::functionsOfTheProgramMayWait);
    suite.finish();
  }
}
