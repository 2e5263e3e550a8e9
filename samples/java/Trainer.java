import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.halftone.AdamwOptions;
import org.halftone.Checkpoint;
import org.halftone.Context;
import org.halftone.ContextOptions;
import org.halftone.Device;
import org.halftone.Dtype;
import org.halftone.GradScaler;
import org.halftone.GradScalerOptions;
import org.halftone.Halftone;
import org.halftone.Module;
import org.halftone.Optimizer;
import org.halftone.Sampler;
import org.halftone.Schedule;
import org.halftone.Scope;
import org.halftone.Tensor;

/** The parts of a training run that do not depend on the model and its data. */
final class Trainer {
  private static final Map<String, Dtype> DTYPES = Map.of("fp32", Dtype.F32, "bf16", Dtype.BF16, "fp16", Dtype.F16);

  /** Adds the gradients of one step and returns its loss. */
  interface Step {
    double run() throws IOException;
  }

  final Flags flags;
  final Dtype dtype;
  final Context context;
  final Device device;
  final Ranks ranks;
  double maxGradNorm;
  Module model;
  private Optimizer optimizer;
  private GradScaler scaler;
  private Checkpoint checkpoint;
  private TrainLog log;
  private long stepsDone;
  private long totalSteps;
  /** By a signal. */
  private volatile boolean isTold;
  /** All processes have agreed. */
  private boolean isStopping;
  private final CountDownLatch ended = new CountDownLatch(1);

  Trainer(Flags flags) {
    this.flags = flags;
    if (flags.has("--resume") && !flags.has("--checkpoint")) {
      throw Flags.refuse("--resume: needs --checkpoint, the folder to continue from");
    }
    dtype = DTYPES.get(flags.text("--precision"));
    context = new Context(
        new ContextOptions().seed(flags.whole("--seed")).numThreads((int) flags.whole("--threads")));
    device = new Device(flags.text("--device"), context);
    ranks = new Ranks(device, flags);
    if (flags.whole("--batch") % ranks.size != 0) {
      throw Flags.refuse("--batch " + flags.text("--batch") + ": is no multiple of the " + ranks.size + " processes");
    }
  }

  static Flags flags(String summary) {
    Flags flags = new Flags(summary);
    flags.choice("--precision", List.of("bf16", "fp32", "fp16"), "of weights and activations in products");
    flags.text("--device", "cpu", "where to train");
    flags.whole("--steps", 1, null, "stop after this number of steps");
    flags.real("--lr", "1e-3", "initial learning rate");
    flags.choice("--schedule", List.of("cosine", "constant"), "of the learning rate");
    flags.whole("--seed", 0, "0", "of the initial weights and the order of the data");
    flags.whole("--threads", 0, "0", "that compute; 0: as many as the machine allows");
    flags.choice("--sharding", List.of("none", "ddp", "optimizer", "gradients", "full", "hybrid"),
        "what the processes of halftone-run share");
    flags.choice("--offload", List.of("none", "memory", "file"), "where shared state is while it is not used");
    flags.text("--offload-path", ".", "the folder of the file of --offload");
    flags.text("--log", null, "write one JSON object per step to this file");
    flags.text("--checkpoint", null, "save checkpoints in this folder, the last one when the run ends");
    flags.whole("--checkpoint-every", 1, "500", "steps between two checkpoints");
    flags.onOff("--resume", "continue from the newest checkpoint, if there is one");
    return flags;
  }

  /** All steps of the run, of so many batches an epoch. */
  long countSteps(long batches) {
    long total = flags.whole("--epochs") * Math.max(1, batches);
    return flags.has("--steps") ? Math.min(total, flags.whole("--steps")) : total;
  }

  /** Makes optimizer and scaler, and loads a checkpoint to resume from. */
  void begin(Module model, String unitKind, Sampler sampler, long totalSteps, long warmup) throws IOException {
    this.model = model;
    this.totalSteps = totalSteps;
    ranks.share(model, unitKind, dtype);
    optimizer = Optimizer.adamw(model, new AdamwOptions().lr(flags.real("--lr")).computeDtype(dtype));
    optimizer.setSchedule(schedule(warmup));
    // In fp16 the loss is scaled, so that small gradients do not underflow.
    scaler = new GradScaler(device, new GradScalerOptions().enabled(dtype == Dtype.F16));
    openCheckpoint(sampler);
    log = new TrainLog(ranks.rank == 0 ? flags.text("--log") : null, stepsDone);
    say("training in %s on %s, processes: %d, threads: %d, %d steps", flags.text("--precision"),
        flags.text("--device"), ranks.size, context.numThreads(), totalSteps);
  }

  private Schedule schedule(long warmup) {
    boolean isCosine = flags.text("--schedule").equals("cosine");
    Schedule schedule = isCosine ? Schedule.cosine(totalSteps - warmup, 0) : Schedule.constant();
    return warmup > 0 ? Schedule.warmup(warmup, 1.0 / (warmup + 1), schedule) : schedule;
  }

  private void openCheckpoint(Sampler sampler) {
    String folder = flags.text("--checkpoint");
    if (folder == null) return;
    Halftone.logSetCallback(line -> System.err.println("warning: " + line));
    boolean isShared = ranks.group != null;
    checkpoint = isShared ? Checkpoint.shared(context, folder, ranks.group) : new Checkpoint(context, folder);
    checkpoint.addModule("model", model);
    checkpoint.addOptimizer("optimizer", optimizer);
    checkpoint.addGradScaler("scaler", scaler);
    checkpoint.addSampler("sampler", sampler);
    boolean resumes = flags.has("--resume");
    long step = resumes ? checkpoint.load() : checkpoint.latest();
    if (step >= 0 && !resumes) {
      throw Flags.refuse("--checkpoint " + folder + ": holds a run of " + step
          + " steps; go on from there with --resume, or take another folder");
    }
    if (step < 0) return;
    say("going on after step %d", step);
    stepsDone = step;
  }

  /** Runs the steps, each of so many items on all processes together. A signal stops them after a whole step. */
  void run(long items, String unit, Step step) throws IOException {
    Thread stop = new Thread(this::stop);
    Runtime.getRuntime().addShutdownHook(stop);
    long begin = System.nanoTime();
    long first = stepsDone;
    while (stepsDone < totalSteps && !isStopping) {
      double loss = runStep(items, step);
      if (stepsDone % 100 != 0 && stepsDone != totalSteps) continue;
      double rate = items * (stepsDone - first) * 1e9 / (System.nanoTime() - begin);
      say("step %d of %d: loss %.4f, %.0f %s/s", stepsDone, totalSteps, loss, rate, unit);
    }
    if (isStopping) {
      say("stopped by a signal after step %d of %d", stepsDone, totalSteps);
      ended.countDown();
      waitForTheEnd();
    }
    Runtime.getRuntime().removeShutdownHook(stop);
  }

  /** Runs when a signal ends the machine, which waits for it. */
  private void stop() {
    isTold = true;
    try {
      ended.await();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** The machine ends with the signal's status; a process that another one has stopped ends with that of SIGTERM. */
  private static void waitForTheEnd() {
    new Thread(() -> System.exit(128 + 15)).start();
    try {
      Thread.sleep(Long.MAX_VALUE);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private double runStep(long items, Step step) throws IOException {
    var row = new TrainLog.Row();
    long begin = System.nanoTime();
    row.step = stepsDone + 1;
    optimizer.zeroGrad();
    try (Scope temporaries = Scope.begin()) {
      row.loss = step.run();
      update(row);
    }
    double[] agreed = ranks.agree(row.loss, isTold);
    row.loss = agreed[0];
    isStopping = agreed[1] > 0;
    row.itemsPerSecond = items * 1e9 / (System.nanoTime() - begin);
    ++stepsDone;
    log.write(row);
    boolean isLast = stepsDone == totalSteps || isStopping;
    if (checkpoint != null && (isLast || stepsDone % flags.whole("--checkpoint-every") == 0)) {
      checkpoint.save(stepsDone);
    }
    return row.loss;
  }

  /** Adds the gradients of the loss times a share. */
  void backward(Tensor loss, double share) {
    scaler.scale(share == 1 ? loss : loss.mulScalar(share)).backward();
  }

  private void update(TrainLog.Row row) {
    // The first process alone has a log, but the norm of shared gradients needs all of them.
    boolean isLogged = log.isOpen() || ranks.sharesState();
    row.lr = optimizer.lr();
    row.lossScale = scaler.currentScale();
    if (isLogged || maxGradNorm > 0) scaler.unscale(optimizer);
    if (isLogged) row.gradNorm = optimizer.gradNorm();
    if (maxGradNorm > 0) optimizer.clipGradNorm(maxGradNorm);
    scaler.step(optimizer);
    row.outcome = optimizer.outcome().skipped ? "skipped" : "stepped";
    scaler.update();
  }

  /** Every process has all weights meanwhile; the first one prints results. */
  void finish(Runnable results) {
    try (Scope gathered = ranks.gathered();
        Scope unrecorded = Halftone.noGrad();
        Scope cast = Halftone.autocast(dtype)) {
      if (ranks.rank == 0) results.run();
    }
  }

  void say(String format, Object... arguments) {
    if (ranks.rank == 0) System.out.printf(format + "%n", arguments);
  }
}
