import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.halftone.AdamwOptions;
import org.halftone.Batches;
import org.halftone.Checkpoint;
import org.halftone.Context;
import org.halftone.CustomFunction;
import org.halftone.CustomModule;
import org.halftone.CustomOptions;
import org.halftone.Device;
import org.halftone.DistributedDataParallel;
import org.halftone.Dtype;
import org.halftone.Group;
import org.halftone.GroupOptions;
import org.halftone.Halftone;
import org.halftone.Hook;
import org.halftone.LinearOptions;
import org.halftone.Module;
import org.halftone.Optimizer;
import org.halftone.Parameter;
import org.halftone.ReduceOp;
import org.halftone.Row;
import org.halftone.Sampler;
import org.halftone.SamplerOptions;
import org.halftone.Schedule;
import org.halftone.Scope;
import org.halftone.ShapeMismatchException;
import org.halftone.StateDict;
import org.halftone.Status;
import org.halftone.Store;
import org.halftone.StoreFunctions;
import org.halftone.Tensor;

/** Functions of Java that the library calls, and what they throw. Run by CTest. */
public final class CallbacksTest {
  private static final Device device = new Device("cpu");
  private static volatile IOException broken;

  private static <T> T wall() throws IOException {
    var made = new IOException("broken");
    if (broken == null) broken = made;
    throw made;
  }

  private static Tensor tensor(float... values) {
    return Tensor.of(device, values);
  }

  private static Tensor variable(float... values) {
    Tensor x = tensor(values);
    x.setRequiresGrad(true);
    return x;
  }

  private static void same(Tensor actual, float... expected) {
    Suite.check(Arrays.equals(actual.read(), expected), actual);
  }

  /** The exception is the first one of the callback itself, with its stack. */
  private static void arrives(Suite.Case call) throws Exception {
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

  private static final class Residual extends CustomModule {
    private final Module inner;
    private final Parameter scale;

    Residual(long width) {
      inner = child("inner", Module.linear(device, width, width));
      scale = parameter("scale", new Parameter("scale", tensor(2)));
    }

    @Override
    protected Tensor forward(Tensor x) {
      return x.add(scale.tensor().mul(inner.forward(x)));
    }
  }

  private static final class Gate extends CustomModule {
    Gate() {
      super(new CustomOptions().inputCount(2).outputCount(2));
    }

    @Override
    protected Tensor[] forward(Tensor[] inputs) {
      return new Tensor[] {inputs[1] == null ? inputs[0] : inputs[0].mul(inputs[1]), inputs[0].neg()};
    }
  }

  private static void aModuleHasItsParts() {
    Module model = Module.sequential(new Residual(2).module(), Module.relu());
    String[] names = {"0.inner.weight", "0.inner.bias", "0.scale"};
    List<String> found = new ArrayList<>();
    for (long i = 0; i < model.parameterCount(); ++i) found.add(model.parameterName(i));
    Collections.sort(found);
    Arrays.sort(names);
    Suite.equal(found, Arrays.asList(names));
    model.forward(Tensor.of(device, new float[] {1, 2}, 1, 2)).sum().backward();
    Suite.check(model.parameter(0).grad() != null, "no gradient");
  }

  private static void aModuleRunsAfterItsObjectIsGone() throws InterruptedException {
    Module model = Module.sequential(new Residual(2).module());
    Tensor x = Tensor.of(device, new float[] {1, 2}, 1, 2);
    float[] first = model.forward(x).read();
    System.gc();
    Thread.sleep(20);
    same(model.forward(x), first);
  }

  private static void severalInputsAndOutputs() throws Exception {
    Module gate = new Gate().module();
    Tensor x = tensor(1, 2);
    Tensor[] made = gate.forwardN(new Tensor[] {x, tensor(0, 1)}, null, 2);
    same(made[0], 0, 2);
    same(made[1], -1, -2);
    same(gate.forwardN(new Tensor[] {x}, null, 2)[0], 1, 2);
    Suite.raises(Status.INVALID_ARGUMENT, "", () -> gate.forwardN(new Tensor[] {x, x, x}, null, 2));
  }

  private static void wrongResultsAreNamed() throws Exception {
    Module two = Module.custom((self, inputs) -> new Tensor[] {inputs[0], inputs[0]});
    Suite.raises(Status.INVALID_ARGUMENT, "the function returned 2 tensors, expected 1",
        () -> two.forward(tensor(1)));
    Module none = Module.custom((self, inputs) -> null);
    Suite.raises(Status.INVALID_HANDLE, "", () -> none.forward(tensor(1)));
    Module closed = Module.custom((self, inputs) -> {
      Tensor made = inputs[0].neg();
      made.close();
      return new Tensor[] {made};
    });
    Suite.isClosed("Tensor", () -> closed.forward(tensor(1)));
  }

  private static void exceptionsPassEveryLevel() throws Exception {
    Module inner = Module.custom((self, inputs) -> wall());
    Module outer = Module.custom((self, inputs) -> new Tensor[] {inner.forward(inputs[0])});
    arrives(() -> Module.sequential(Module.sequential(outer)).forward(tensor(1)));
    Module fails = Module.custom((self, inputs) -> {
      throw new StackOverflowError();
    });
    try {
      fails.forward(tensor(1));
      throw new AssertionError("nothing was thrown");
    } catch (StackOverflowError expected) {
      same(tensor(1), 1);
    }
  }

  private static void anErrorOfTheLibraryInsideKeepsItsClass() throws Exception {
    Module model = Module.custom((self, inputs) -> new Tensor[] {inputs[0].add(tensor(1, 2, 3))});
    try {
      model.forward(tensor(1, 2));
    } catch (ShapeMismatchException error) {
      Suite.check(error.getMessage().contains("htone_add"), error.getMessage());
      return;
    }
    throw new AssertionError("nothing was thrown");
  }

  private static final class Square extends CustomFunction {
    @Override
    protected Tensor[] forward(Saved saved, Tensor[] inputs) {
      saved.keep(inputs[0]);
      return new Tensor[] {inputs[0].mul(inputs[0])};
    }

    @Override
    protected Tensor[] backward(Saved saved, Tensor[] gradients) {
      return new Tensor[] {saved.tensors()[0].mulScalar(2).mul(gradients[0])};
    }
  }

  private static final class Swap extends CustomFunction {
    @Override
    protected Tensor[] forward(Saved saved, Tensor[] inputs) {
      return new Tensor[] {inputs[1].addScalar(0), inputs[0].addScalar(0)};
    }

    @Override
    protected Tensor[] backward(Saved saved, Tensor[] gradients) {
      Suite.check(gradients[0] == null && saved.needsGrad(0) && !saved.needsGrad(1), "needs");
      return new Tensor[] {gradients[1].mulScalar(5), null};
    }
  }

  private static final class Failing extends CustomFunction {
    private final boolean inForward;

    Failing(boolean inForward) {
      this.inForward = inForward;
    }

    @Override
    protected Tensor[] forward(Saved saved, Tensor[] inputs) throws IOException {
      return inForward ? wall() : new Tensor[] {inputs[0].mulScalar(1)};
    }

    @Override
    protected Tensor[] backward(Saved saved, Tensor[] gradients) throws IOException {
      return wall();
    }
  }

  private static void functionsHaveTheirOwnBackward() {
    Tensor x = variable(1, 3);
    Tensor y = new Square().apply(x)[0];
    same(y, 1, 9);
    y.sum().backward();
    same(x.grad(), 2, 6);
    Tensor a = variable(1);
    new Swap().apply(a, tensor(2))[1].sum().backward();
    same(a.grad(), 5);
  }

  private static void functionsPassExceptionsOn() throws Exception {
    Tensor x = variable(1);
    arrives(() -> new Failing(true).apply(x));
    Suite.check(x.addScalar(1).requiresGrad(), "recording is off");
    Tensor y = new Failing(false).apply(x)[0].sum();
    arrives(y::backward);
  }

  private static void hooksSeeAndReplace() {
    Module layer = Module.relu();
    Tensor x = variable(-1, 2);
    List<String> seen = new ArrayList<>();
    try (Hook before = layer.addForwardPreHook((self, inputs) -> new Tensor[] {inputs[0].neg()});
        Hook after = layer.addForwardHook((self, inputs, outputs) -> {
          seen.add(inputs[0].read()[0] + " " + outputs[0].read()[0]);
          return new Tensor[] {outputs[0].mulScalar(3)};
        });
        Hook gradient = x.addGradientHook(one -> one.mulScalar(10))) {
      Tensor y = layer.forward(x);
      same(y, 3, 0);
      y.sum().backward();
      same(x.grad(), -30, -0f);
    }
    same(layer.forward(x), 0, 2);
    Suite.equal(seen, List.of("1.0 1.0"));
    Module linear = Module.linear(device, 2, 1);
    linear.parameter(0).addPostAccumulateHook(parameter -> seen.add(Arrays.toString(parameter.grad().read())));
    linear.forward(Tensor.of(device, new float[] {1, 2}, 1, 2)).sum().backward();
    Suite.equal(seen.get(1), "[1.0, 2.0]");
  }

  private static void argumentsThatAHookKeepsStay() {
    List<Tensor> kept = new ArrayList<>();
    try (Scope scope = Scope.begin()) {
      Module layer = Module.relu();
      layer.addForwardHook((self, inputs, outputs) -> {
        kept.addAll(List.of(inputs[0], outputs[0]));
        return null;
      });
      layer.forward(tensor(-1, 2));
    }
    Tensor[] others = Stream.generate(() -> tensor(9, 9)).limit(100).toArray(Tensor[]::new);
    same(kept.get(0), -1, 2);
    same(kept.get(1), 0, 2);
    Stream.concat(kept.stream(), Stream.of(others)).forEach(Tensor::close);
  }

  private interface Adding {
    Hook to(Module layer, Tensor x);
  }

  private static void hooksPassExceptionsOn() throws Exception {
    throwing((layer, x) -> layer.addForwardPreHook((self, inputs) -> wall()));
    throwing((layer, x) -> layer.addForwardHook((self, inputs, outputs) -> wall()));
    throwing((layer, x) -> x.addGradientHook(gradient -> wall()));
    throwing((layer, x) -> layer.parameter(0).addPostAccumulateHook(parameter -> wall()));
  }

  private static void throwing(Adding adding) throws Exception {
    Module layer = Module.linear(device, 2, 1);
    Tensor x = Tensor.of(device, new float[] {1, 2}, 1, 2);
    x.setRequiresGrad(true);
    Hook hook = adding.to(layer, x);
    arrives(() -> layer.forward(x).sum().backward());
    hook.remove();
    layer.forward(x).sum().backward();
  }

  private static void noFunctionIsRefused() throws Exception {
    Suite.raises(Status.INVALID_ARGUMENT, "callback is NULL", () -> Module.relu().addForwardHook(null));
  }

  private static void schedulesAreFunctionsOfTheStep() throws Exception {
    Optimizer optimizer = Optimizer.adamw(Module.linear(device, 2, 1), new AdamwOptions().lr(0.5));
    optimizer.setSchedule(Schedule.callback(position -> 0.5 / (1 + position)));
    Suite.equal(optimizer.lr(), 0.25);
    optimizer.setSchedule(Schedule.callback(position -> wall()));
    arrives(optimizer::lr);
  }

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
    Suite.check(Arrays.equals(batches.tensor(1).readLongs(), new long[] {20, 30}), "labels");
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
        sums[mine] = x.read()[0];
      }));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) thread.join();
    Suite.check(sums[0] == 3 && sums[1] == 3, Arrays.toString(sums));
  }

  private static void aReductionAveragesABucket() throws Exception {
    Module layer = Module.linear(device, 2, 1, new LinearOptions().bias(false));
    Group group = new Group(device, "single");
    DistributedDataParallel replicated = new DistributedDataParallel(layer, group);
    List<Long> seen = new ArrayList<>();
    replicated.setReduction((bucket, index) -> {
      seen.add(index);
      bucket.write(bucket.mulScalar(0.5).read());
    });
    Tensor x = Tensor.of(device, new float[] {1, 2}, 1, 2);
    layer.forward(x).sum().backward();
    Suite.equal(seen, List.of(0L));
    same(layer.parameter(0).grad(), 0.5f, 1);
    replicated.setReduction((bucket, index) -> wall());
    arrives(() -> layer.forward(x).sum().backward());
    replicated.close();
  }

  /** The library reports a checkpoint that it must skip. */
  private static long loadDamaged() throws IOException {
    Path folder = Files.createTempDirectory("halftone");
    StateDict state = new StateDict();
    state.add("x", tensor(1, 2));
    try (Context context = Context.defaultContext();
        Checkpoint checkpoint = new Checkpoint(context, folder.toString())) {
      checkpoint.addStateDict("state", state);
      checkpoint.save(1);
      checkpoint.save(2);
      Path newest = folder.resolve("step-2/index.json");
      byte[] bytes = Files.readAllBytes(newest);
      Files.write(newest, Arrays.copyOf(bytes, bytes.length - 5));
      return checkpoint.load();
    } finally {
      remove(folder);
    }
  }

  private static void remove(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Collections.reverseOrder()).toArray(Path[]::new)) Files.delete(path);
    }
  }

  private static void theLogGoesToAFunction() throws Exception {
    List<String> lines = Collections.synchronizedList(new ArrayList<>());
    Halftone.logSetCallback(lines::add);
    Suite.equal(loadDamaged(), 1L);
    Suite.check(String.join("\n", lines).contains("checkpoint of step 2 is damaged"), lines);
    List<Throwable> reported = Collections.synchronizedList(new ArrayList<>());
    var before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> reported.add(thrown));
    broken = null;
    Halftone.logSetCallback(line -> wall());
    Suite.equal(loadDamaged(), 1L);
    Thread.setDefaultUncaughtExceptionHandler(before);
    Halftone.logSetCallback(null);
    Suite.check(reported.contains(broken), reported);
  }

  private static void exceptionsOfThreadsAreKeptApart() throws Exception {
    Module layer = Module.relu();
    layer.addForwardPreHook((self, inputs) -> {
      throw new IllegalStateException(Thread.currentThread().getName());
    });
    List<String> wrong = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 4; ++i) threads.add(new Thread(() -> failOften(layer, wrong)));
    threads.forEach(Thread::start);
    for (Thread thread : threads) thread.join();
    Suite.check(wrong.isEmpty(), wrong);
  }

  private static void failOften(Module layer, List<String> wrong) {
    String name = Thread.currentThread().getName();
    for (int i = 0; i < 50; ++i) {
      try (Tensor x = tensor(1)) {
        layer.forward(x);
        wrong.add("nothing was thrown");
      } catch (IllegalStateException error) {
        if (!error.getMessage().equals(name)) wrong.add(error.getMessage());
      }
    }
  }

  /** Frees the functions: nothing refers to the hooks' owners any more. */
  private static void droppedFunctionsAreCollected() throws Exception {
    var seen = new WeakReference<>(new float[1]);
    addHook(seen.get());
    for (int i = 0; i < 500 && seen.get() != null; ++i) {
      System.gc();
      Thread.sleep(20);
    }
    Suite.check(seen.get() == null, "the function is still reachable");
  }

  private static void addHook(float[] kept) {
    Module layer = Module.relu();
    layer.addForwardHook((self, inputs, outputs) -> {
      kept[0] = 1;
      return null;
    });
    layer.forward(tensor(1));
  }

  public static void main(String[] arguments) throws InterruptedException {
    Suite suite = new Suite();
    suite.test("aModuleHasItsParts", CallbacksTest::aModuleHasItsParts);
    suite.test("aModuleRunsAfterItsObjectIsGone", CallbacksTest::aModuleRunsAfterItsObjectIsGone);
    suite.test("severalInputsAndOutputs", CallbacksTest::severalInputsAndOutputs);
    suite.test("wrongResultsAreNamed", CallbacksTest::wrongResultsAreNamed);
    suite.test("exceptionsPassEveryLevel", CallbacksTest::exceptionsPassEveryLevel);
    suite.test("anErrorOfTheLibraryInsideKeepsItsClass", CallbacksTest::anErrorOfTheLibraryInsideKeepsItsClass);
    suite.test("functionsHaveTheirOwnBackward", CallbacksTest::functionsHaveTheirOwnBackward);
    suite.test("functionsPassExceptionsOn", CallbacksTest::functionsPassExceptionsOn);
    suite.test("hooksSeeAndReplace", CallbacksTest::hooksSeeAndReplace);
    suite.test("argumentsThatAHookKeepsStay", CallbacksTest::argumentsThatAHookKeepsStay);
    suite.test("hooksPassExceptionsOn", CallbacksTest::hooksPassExceptionsOn);
    suite.test("noFunctionIsRefused", CallbacksTest::noFunctionIsRefused);
    suite.test("schedulesAreFunctionsOfTheStep", CallbacksTest::schedulesAreFunctionsOfTheStep);
    suite.test("batchesAreFilledByAFunction", CallbacksTest::batchesAreFilledByAFunction);
    suite.test("batchesPassExceptionsOn", CallbacksTest::batchesPassExceptionsOnAndStayAtTheirPlace);
    suite.test("memoryThatALoaderKeepsStaysItsOwn", CallbacksTest::memoryThatALoaderKeepsStaysItsOwn);
    suite.test("storesAreObjectsOfTheProgram", CallbacksTest::storesAreObjectsOfTheProgram);
    suite.test("aStoreConnectsRanks", CallbacksTest::aStoreConnectsRanks);
    suite.test("aReductionAveragesABucket", CallbacksTest::aReductionAveragesABucket);
    suite.test("theLogGoesToAFunction", CallbacksTest::theLogGoesToAFunction);
    suite.test("exceptionsOfThreadsAreKeptApart", CallbacksTest::exceptionsOfThreadsAreKeptApart);
    suite.test("droppedFunctionsAreCollected", CallbacksTest::droppedFunctionsAreCollected);
    suite.finish();
  }
}
