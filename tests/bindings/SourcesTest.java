import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.halftone.Batches;
import org.halftone.Context;
import org.halftone.Device;
import org.halftone.Dtype;
import org.halftone.Group;
import org.halftone.GroupOptions;
import org.halftone.ReduceOp;
import org.halftone.Row;
import org.halftone.Sampler;
import org.halftone.SamplerOptions;
import org.halftone.Status;
import org.halftone.Store;
import org.halftone.StoreFunctions;
import org.halftone.Tensor;

/** Batches and stores whose content comes from functions of Java, and what these throw. Run by CTest. */
public final class SourcesTest extends Callbacks {
  private static final Row[] ROWS = {new Row(Dtype.F32, 2), new Row(Dtype.I64)};

  private static Sampler sampler() {
    return new Sampler(new SamplerOptions().count(4).batchSize(2).shuffle(false));
  }

  private static void batchesAreFilledByAFunction() {
    Batches batches = Batches.fromFunction(device, sampler(), (indices, rows) -> {
      for (long index : indices) {
        rows[0].putFloat(index).putFloat(-index);
        rows[1].putLong(10 * index);
      }
    }, ROWS);
    batches.advance();
    batches.advance();
    same(batches.tensor(0), 2, -2, 3, -3);
    Suite.check(Arrays.equals(batches.tensor(1).toLongArray(), new long[] {20, 30}), "labels");
  }

  private static void batchesPassExceptionsOnAndStayAtTheirPlace() throws Exception {
    Sampler sampler = sampler();
    arrives(() -> Batches.fromFunction(device, sampler, (indices, rows) -> wall(), ROWS).advance());
    Suite.equal(sampler.position().batch(), 0L);
    ByteBuffer[] kept = new ByteBuffer[1];
    Batches small = Batches.fromFunction(device, sampler, (indices, rows) -> kept[0] = rows[0].putDouble(1).putLong(1),
        new Row(Dtype.F32, 2), new Row(Dtype.I64));
    small.advance();
    Suite.equal(kept[0].remaining(), 0);
  }

  private static void memoryThatALoaderKeepsStaysItsOwn() {
    List<ByteBuffer> kept = new ArrayList<>();
    Batches batches = Batches.fromFunction(device, sampler(), (indices, rows) -> {
      for (long index : indices) rows[0].putFloat(index);
      kept.add(rows[0].slice(0, 8).order(ByteOrder.nativeOrder()));
    }, new Row(Dtype.F32));
    batches.advance();
    Tensor first = batches.tensor(0);
    batches.advance();
    same(first, 0, 1);
    for (ByteBuffer buffer : kept) buffer.putFloat(0, 7);
    same(first, 0, 1);
    Suite.equal(kept.get(0).getFloat(4), 1f);
    Suite.equal(kept.get(1).getFloat(4), 3f);
  }

  /** A store of the program's. */
  private static class Dictionary implements StoreFunctions {
    private final Map<String, byte[]> values = new HashMap<>();

    @Override
    public synchronized void set(String key, byte[] value) throws Exception {
      values.put(key, value);
      notifyAll();
    }

    @Override
    public synchronized byte[] get(String key, double timeoutSeconds) throws Exception {
      long end = System.nanoTime() + (long) (1e9 * timeoutSeconds);
      while (!values.containsKey(key) && System.nanoTime() < end) wait(1);
      return values.get(key);
    }

    @Override
    public synchronized long add(String key, long amount) {
      long sum = amount + (values.containsKey(key) ? Long.parseLong(new String(values.get(key))) : 0);
      values.put(key, Long.toString(sum).getBytes());
      notifyAll();
      return sum;
    }

    @Override
    public synchronized boolean compareSet(String key, byte[] expected, byte[] desired) {
      if (!Arrays.equals(values.get(key), expected)) return false;
      values.remove(key);
      if (desired != null) values.put(key, desired);
      notifyAll();
      return true;
    }

    @Override
    public synchronized boolean remove(String key) {
      return values.remove(key) != null;
    }
  }

  private static void storesAreObjectsOfTheProgram() throws Exception {
    try (Context context = new Context(); Store store = Store.fromObject(context, new Dictionary())) {
      byte[] bytes = new byte[1000];
      bytes[999] = 7;
      store.set("key", bytes);
      Suite.check(Arrays.equals(store.get("key", 1), bytes), "bytes");
      store.set("empty", new byte[0]);
      Suite.equal(store.get("empty", 1).length, 0);
      store.add("sum", 3);
      Suite.equal(store.add("sum", 4), 7L);
      Suite.raises(Status.TIMEOUT, "", () -> store.get("absent", 0.01));
    }
    Context context = new Context();
    Store failing = Store.fromObject(context, new Dictionary() {
      @Override
      public void set(String key, byte[] value) throws IOException {
        wall();
      }
    });
    arrives(() -> failing.set("key", new byte[1]));
  }

  /** The library's threads and those of Java call the store. */
  private static void aStoreConnectsRanks() throws Exception {
    Context context = new Context();
    Store store = Store.fromObject(context, new Dictionary());
    Device shared = new Device("cpu", context);
    float[] sums = new float[2];
    List<Thread> threads = new ArrayList<>();
    for (int rank = 0; rank < 2; ++rank) {
      int mine = rank;
      threads.add(new Thread(() -> {
        Group group = new Group(shared, "threads", store, new GroupOptions().rank(mine).size(2));
        Tensor x = Tensor.of(shared, new float[] {mine + 1});
        group.allReduce(ReduceOp.SUM, x, x);
        sums[mine] = x.toFloatArray()[0];
      }));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) thread.join();
    Suite.check(sums[0] == 3 && sums[1] == 3, Arrays.toString(sums));
  }

  public static void main(String[] arguments) throws InterruptedException {
    Suite suite = new Suite();
    suite.test("batchesAreFilledByAFunction", SourcesTest::batchesAreFilledByAFunction);
    suite.test("batchesPassExceptionsOn", SourcesTest::batchesPassExceptionsOnAndStayAtTheirPlace);
    suite.test("memoryThatALoaderKeepsStaysItsOwn", SourcesTest::memoryThatALoaderKeepsStaysItsOwn);
    suite.test("storesAreObjectsOfTheProgram", SourcesTest::storesAreObjectsOfTheProgram);
    suite.test("aStoreConnectsRanks", SourcesTest::aStoreConnectsRanks);
    suite.finish();
  }
}
