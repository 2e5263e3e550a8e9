import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.halftone.Dtype;
import org.halftone.Halftone;
import org.halftone.Scope;
import org.halftone.ScopeStack;
import org.halftone.Status;
import org.halftone.Tensor;

/** Scopes of tasks that go on in other threads. Run by CTest. */
public final class ScopeStackTest {
  private static void onNewThread(Runnable body) throws InterruptedException {
    Throwable[] thrown = new Throwable[1];
    Thread thread = new Thread(body);
    thread.setUncaughtExceptionHandler((one, error) -> thrown[0] = error);
    thread.start();
    thread.join();
    if (thrown[0] != null) throw new AssertionError(thrown[0]);
  }

  private static void scopesGoOnInAnotherThread() throws Exception {
    try (ScopeStack task = new ScopeStack()) {
      Scope mode = task.call(Halftone::noGrad);
      Scope[] handles = new Scope[1];
      Tensor[] temporary = new Tensor[1];
      onNewThread(() -> task.run(() -> {
        handles[0] = Scope.begin();
        temporary[0] = Tensor.of(ScopedTask.device, new float[] {1});
      }));
      ScopedTask.expect(true, Dtype.F32);
      onNewThread(() -> task.run(() -> {
        ScopedTask.expect(false, Dtype.F32);
        handles[0].close();
        mode.close();
        ScopedTask.expect(true, Dtype.F32);
      }));
      Suite.raises(Status.INVALID_HANDLE, "", temporary[0]::item);
    }
  }

  /** Threads with modes of their own, each with a queue. A task goes on in another thread after each part. */
  private static final class Pool {
    private static final int THREADS = 4;

    private final List<LinkedBlockingQueue<Runnable>> queues = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    final List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());

    Pool() {
      for (int i = 0; i < THREADS; ++i) {
        int number = i;
        queues.add(new LinkedBlockingQueue<>());
        threads.add(new Thread(() -> work(number)));
      }
      threads.forEach(Thread::start);
    }

    private void work(int number) {
      boolean records = number % 2 == 0;
      Dtype dtype = number < 2 ? Dtype.F32 : Dtype.BF16;
      try (Scope cast = Halftone.autocast(dtype); Scope mode = records ? Scope.begin() : Halftone.noGrad()) {
        for (Runnable next = queues.get(number).take(); next != END; next = queues.get(number).take()) {
          next.run();
          tested(() -> ScopedTask.expect(records, dtype));
        }
      } catch (InterruptedException never) {
        wrong.add(never);
      }
    }

    private void tested(Runnable body) {
      try {
        body.run();
      } catch (RuntimeException | AssertionError error) {
        wrong.add(error);
      }
    }

    private static final Runnable END = () -> {};

    void start(long seed, int parts, CountDownLatch done) {
      schedule(new ScopedTask(seed), new Random(seed), parts, 0, done);
    }

    private void schedule(ScopedTask task, Random random, int parts, int thread, CountDownLatch done) {
      queues.get(thread).add(() -> {
        if (parts > 0) {
          tested(task::runPart);
          schedule(task, random, parts - 1, (thread + 1 + random.nextInt(THREADS - 1)) % THREADS, done);
        } else {
          tested(task::close);
          done.countDown();
        }
      });
    }

    void end() throws InterruptedException {
      queues.forEach(queue -> queue.add(END));
      for (Thread thread : threads) thread.join();
    }
  }

  private static void aStormOfTasksFindsItsModesInEachThread() throws Exception {
    Pool pool = new Pool();
    CountDownLatch done = new CountDownLatch(200);
    for (int seed = 0; seed < 200; ++seed) pool.start(seed, 50, done);
    done.await();
    pool.end();
    Suite.check(pool.wrong.isEmpty(), pool.wrong.size() + " wrong, such as " + pool.wrong.stream().findFirst());
  }

  private static void aClosedStackEndsItsScopes() throws Exception {
    long before = Halftone.liveHandles();
    ScopeStack task = new ScopeStack();
    Tensor[] temporary = new Tensor[1];
    Scope mode = task.call(Halftone::noGrad);
    task.run(() -> {
      Scope.begin();
      temporary[0] = Tensor.of(ScopedTask.device, new float[] {1});
    });
    task.close();
    Suite.equal(Halftone.liveHandles(), before);
    Suite.raises(Status.INVALID_HANDLE, "", temporary[0]::item);
    mode.close();  // does nothing
    task.close();
    Suite.isClosed("ScopeStack", () -> task.run(() -> {}));
  }

  /** The end of each test counts the handles, when the objects that this one has dropped are collected. */
  private static void aDroppedStackEndsItsScopes() {
    for (int i = 0; i < 100; ++i) {
      new ScopeStack().run(() -> {
        Scope.begin();
        Tensor.of(ScopedTask.device, new float[] {1});
        Halftone.noGrad();
      });
    }
  }

  private static void aStackInUseIsRefused() throws Exception {
    try (ScopeStack task = new ScopeStack()) {
      task.call(() -> {
        Suite.raises(Status.STATE, "stack is in use", () -> task.run(() -> {}));
        Suite.raises(Status.STATE, "stack is in use", task::close);
        return Halftone.noGrad();
      });
      task.run(() -> ScopedTask.expect(false, Dtype.F32));
    }
  }

  private static void whatAPartThrowsArrives() throws Exception {
    var broken = new IOException("broken");
    try (ScopeStack task = new ScopeStack()) {
      task.call(() -> {
        Halftone.noGrad();
        throw broken;
      });
    } catch (Exception thrown) {
      Suite.check(thrown == broken, thrown);
      ScopedTask.expect(true, Dtype.F32);
      return;
    }
    throw new AssertionError("nothing was thrown");
  }

  private static void stacksNest() {
    try (ScopeStack outer = new ScopeStack(); ScopeStack inner = new ScopeStack()) {
      outer.run(() -> {
        Scope mode = Halftone.noGrad();
        inner.run(() -> {
          ScopedTask.expect(true, Dtype.F32);
          Halftone.autocast(Dtype.BF16);
        });
        ScopedTask.expect(false, Dtype.F32);
        mode.close();
      });
      inner.run(() -> ScopedTask.expect(true, Dtype.BF16));
    }
  }

  private static void aScopeClosedOutsideItsPartEndsInTheNextOne() throws Exception {
    try (ScopeStack task = new ScopeStack()) {
      Scope mode = task.call(Halftone::noGrad);
      Suite.raises(Status.STATE, "belongs to a stack", mode::close);
      task.run(() -> ScopedTask.expect(true, Dtype.F32));
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    Suite suite = new Suite();
    ScopedTask.expect(true, Dtype.F32);
    suite.test("scopesGoOnInAnotherThread", ScopeStackTest::scopesGoOnInAnotherThread);
    suite.test("aStormOfTasksFindsItsModesInEachThread", ScopeStackTest::aStormOfTasksFindsItsModesInEachThread);
    suite.test("aClosedStackEndsItsScopes", ScopeStackTest::aClosedStackEndsItsScopes);
    suite.test("aDroppedStackEndsItsScopes", ScopeStackTest::aDroppedStackEndsItsScopes);
    suite.test("aStackInUseIsRefused", ScopeStackTest::aStackInUseIsRefused);
    suite.test("whatAPartThrowsArrives", ScopeStackTest::whatAPartThrowsArrives);
    suite.test("stacksNest", ScopeStackTest::stacksNest);
    suite.test("aScopeClosedOutsideItsPartEndsInTheNextOne",
        ScopeStackTest::aScopeClosedOutsideItsPartEndsInTheNextOne);
    suite.finish();
  }
}
