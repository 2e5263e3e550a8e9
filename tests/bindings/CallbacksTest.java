import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.halftone.AdamwOptions;
import org.halftone.Batches;
import org.halftone.Block;
import org.halftone.Checkpoint;
import org.halftone.Context;
import org.halftone.DistributedDataParallel;
import org.halftone.Dtype;
import org.halftone.Group;
import org.halftone.Halftone;
import org.halftone.Hook;
import org.halftone.LinearOptions;
import org.halftone.Optimizer;
import org.halftone.Sampler;
import org.halftone.SamplerOptions;
import org.halftone.Schedule;
import org.halftone.Scope;
import org.halftone.ShapeMismatchException;
import org.halftone.StateDict;
import org.halftone.Statistics;
import org.halftone.Status;
import org.halftone.Tensor;
import org.halftone.Trainer;
import org.halftone.TrainerPhase;
import org.halftone.TrainerStepFunction;

/** Hooks, schedules, reductions, spikes and the log, which are functions of Java, and what these throw. Run by CTest. */
public final class CallbacksTest extends Callbacks {
  private static void anErrorOfTheLibraryInsideKeepsItsClass() throws Exception {
    Block model = Block.custom((self, inputs) -> new Tensor[] {inputs[0].add(tensor(1, 2, 3))});
    try {
      model.forward(tensor(1, 2));
    } catch (ShapeMismatchException error) {
      Suite.check(error.getMessage().contains("htone_add"), error.getMessage());
      return;
    }
    throw new AssertionError("nothing was thrown");
  }

  private static void hooksSeeAndReplace() {
    Block layer = Block.relu();
    Tensor x = variable(-1, 2);
    List<String> seen = new ArrayList<>();
    try (Hook before = layer.addForwardPreHook((self, inputs) -> new Tensor[] {inputs[0].neg()});
        Hook after = layer.addForwardHook((self, inputs, outputs) -> {
          seen.add(inputs[0].toFloatArray()[0] + " " + outputs[0].toFloatArray()[0]);
          return new Tensor[] {outputs[0].mul(3)};
        });
        Hook gradient = x.addGradientHook(one -> one.mul(10))) {
      Tensor y = layer.forward(x);
      same(y, 3, 0);
      y.sum().backward();
      same(x.grad(), -30, -0f);
    }
    same(layer.forward(x), 0, 2);
    Suite.equal(seen, List.of("1.0 1.0"));
    Block linear = Block.linear(device, 2, 1);
    linear.parameter(0).addPostAccumulateHook(parameter -> seen.add(Arrays.toString(parameter.grad().toFloatArray())));
    linear.forward(Tensor.of(device, new float[] {1, 2}, 1, 2)).sum().backward();
    Suite.equal(seen.get(1), "[1.0, 2.0]");
  }

  private static void argumentsThatAHookKeepsStay() {
    List<Tensor> kept = new ArrayList<>();
    try (Scope scope = Scope.begin()) {
      Block layer = Block.relu();
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
    Hook to(Block layer, Tensor x);
  }

  private static void hooksPassExceptionsOn() throws Exception {
    throwing((layer, x) -> layer.addForwardPreHook((self, inputs) -> wall()));
    throwing((layer, x) -> layer.addForwardHook((self, inputs, outputs) -> wall()));
    throwing((layer, x) -> x.addGradientHook(gradient -> wall()));
    throwing((layer, x) -> layer.parameter(0).addPostAccumulateHook(parameter -> wall()));
  }

  private static void throwing(Adding adding) throws Exception {
    Block layer = Block.linear(device, 2, 1);
    Tensor x = Tensor.of(device, new float[] {1, 2}, 1, 2);
    x.setRequiresGrad(true);
    Hook hook = adding.to(layer, x);
    arrives(() -> layer.forward(x).sum().backward());
    hook.remove();
    layer.forward(x).sum().backward();
  }

  private static void anInterruptDuringACallIsSeenAfterIt() {
    Block layer = Block.relu();
    try (Hook hook = layer.addForwardHook((self, inputs, outputs) -> {
      Thread.currentThread().interrupt();
      return null;
    })) {
      same(layer.forward(tensor(-1, 2)), 0, 2);
      same(layer.forward(tensor(3)), 3);
    } finally {
      Suite.check(Thread.interrupted(), "not interrupted");
    }
  }

  private static void aHookThatIsInterruptedEndsTheCall() throws Exception {
    Block layer = Block.relu();
    try (Hook hook = layer.addForwardPreHook((self, inputs) -> {
      Thread.currentThread().interrupt();
      Thread.sleep(1);
      return null;
    })) {
      layer.forward(tensor(1));
    } catch (Exception thrown) {
      Suite.check(thrown instanceof InterruptedException && !Thread.interrupted(), thrown);
      return;
    }
    throw new AssertionError("nothing was thrown");
  }

  private static void noFunctionIsRefused() throws Exception {
    Suite.isMissing("callback", () -> Block.relu().addForwardHook(null));
  }

  private static void schedulesAreFunctionsOfTheStep() throws Exception {
    Optimizer optimizer = Optimizer.adamw(Block.linear(device, 2, 1), new AdamwOptions().lr(0.5));
    optimizer.setSchedule(Schedule.callback(position -> 0.5 / (1 + position)));
    Suite.equal(optimizer.lr(), 0.25);
    optimizer.setSchedule(Schedule.callback(position -> wall()));
    arrives(optimizer::lr);
  }

  private static void step(Statistics statistics, double loss) {
    statistics.beginStep();
    statistics.endStep(loss, 1);
  }

  private static void spikesHaveAStepAndAName() throws Exception {
    Statistics statistics = new Statistics(device);
    List<String> seen = new ArrayList<>();
    statistics.setSpikeCallback((step, quantity) -> seen.add(quantity + " " + step));
    step(statistics, 1);
    step(statistics, Double.POSITIVE_INFINITY);
    Suite.equal(seen, List.of("loss 2"));
    Suite.equal(statistics.lastSpike().value, Double.POSITIVE_INFINITY);
    statistics.setSpikeCallback((step, quantity) -> wall());
    arrives(() -> step(statistics, Double.NaN));
    Suite.equal(statistics.summary().spikes, 2L);
  }

  /** Trains for two steps. */
  private static void train(TrainerStepFunction callback) {
    Block model = Block.linear(device, 2, 1);
    Sampler sampler = new Sampler(new SamplerOptions().count(4).batchSize(2));
    Trainer trainer = new Trainer(model, new Batches(sampler, Tensor.ones(device, Dtype.F32, 4, 2)), null);
    trainer.setCallback(callback);
    while (trainer.next() != TrainerPhase.DONE) {
      try (Scope turn = trainer.turn()) {
        trainer.takeLoss(model.forward(trainer.tensor(0)).mean());
      }
    }
  }

  private static void aTrainerCallsAfterEachStep() throws Exception {
    List<Long> seen = new ArrayList<>();
    train(seen::add);
    Suite.equal(seen, List.of(1L, 2L));
    arrives(() -> train(step -> wall()));
  }

  private static void aReductionAveragesABucket() throws Exception {
    Block layer = Block.linear(device, 2, 1, new LinearOptions().bias(false));
    Group group = new Group(device, "single");
    DistributedDataParallel replicated = new DistributedDataParallel(layer, group);
    List<Long> seen = new ArrayList<>();
    replicated.setReduction((bucket, index) -> {
      seen.add(index);
      bucket.write(bucket.mul(0.5).toFloatArray());
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
    Block layer = Block.relu();
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

  private static void failOften(Block layer, List<String> wrong) {
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
    Block layer = Block.relu();
    layer.addForwardHook((self, inputs, outputs) -> {
      kept[0] = 1;
      return null;
    });
    layer.forward(tensor(1));
  }

  public static void main(String[] arguments) throws InterruptedException {
    Suite suite = new Suite();
    suite.test("anErrorOfTheLibraryInsideKeepsItsClass", CallbacksTest::anErrorOfTheLibraryInsideKeepsItsClass);
    suite.test("hooksSeeAndReplace", CallbacksTest::hooksSeeAndReplace);
    suite.test("argumentsThatAHookKeepsStay", CallbacksTest::argumentsThatAHookKeepsStay);
    suite.test("hooksPassExceptionsOn", CallbacksTest::hooksPassExceptionsOn);
    suite.test("anInterruptDuringACallIsSeenAfterIt", CallbacksTest::anInterruptDuringACallIsSeenAfterIt);
    suite.test("aHookThatIsInterruptedEndsTheCall", CallbacksTest::aHookThatIsInterruptedEndsTheCall);
    suite.test("noFunctionIsRefused", CallbacksTest::noFunctionIsRefused);
    suite.test("schedulesAreFunctionsOfTheStep", CallbacksTest::schedulesAreFunctionsOfTheStep);
    suite.test("spikesHaveAStepAndAName", CallbacksTest::spikesHaveAStepAndAName);
    suite.test("aTrainerCallsAfterEachStep", CallbacksTest::aTrainerCallsAfterEachStep);
    suite.test("aReductionAveragesABucket", CallbacksTest::aReductionAveragesABucket);
    suite.test("theLogGoesToAFunction", CallbacksTest::theLogGoesToAFunction);
    suite.test("exceptionsOfThreadsAreKeptApart", CallbacksTest::exceptionsOfThreadsAreKeptApart);
    suite.test("droppedFunctionsAreCollected", CallbacksTest::droppedFunctionsAreCollected);
    suite.finish();
  }
}
