import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.halftone.*;

/**
 * Trains a GPT on the bytes of a text in BF16 or by a low-precision recipe, and prints its loss on the last tenth of the text.
 *
 * <p>It is samples/c/train_gpt.c with its smallest model: the same number of steps gives the same loss. The processes
 * of halftone-run share each batch, the weights and the optimizer's state.
 */
public final class TrainGpt {
  private static final int CONTEXT = 64;
  private static final int BATCH = 16;
  /** More batches would change the validation loss little. */
  private static final int VALIDATION_BATCHES = 100;
  /** The learning rate climbs in the first twentieth: the first moments of AdamW are noise. */
  private static final int WARMUP_SHARE = 20;
  private static final int SAVE_EVERY = 500;
  private static final Map<String, RecipeKind> RECIPES = Map.of("fp8-delayed", RecipeKind.DELAYED,
      "fp8-current", RecipeKind.CURRENT, "fp8-block", RecipeKind.BLOCK, "mxfp8", RecipeKind.MXFP8,
      "nvfp4", RecipeKind.NVFP4);

  /** Batches of windows over a text, which do not overlap: tokens, and the tokens that follow them. */
  private static final class Windows {
    private final Sampler sampler;
    private final Batches batches;

    Windows(Tensor text, SamplerOptions options) {
      sampler = new Sampler(options.count(Halftone.windowCount(text.numel(), CONTEXT, CONTEXT)));
      batches = Batches.windows(sampler, text, CONTEXT, CONTEXT);
    }

    /** The mean loss of the next batch. */
    Tensor nextLoss(Block model) {
      batches.advance();
      Tensor logits = model.forward(batches.tensor(0));
      return Halftone.crossEntropy(logits.reshape(-1, logits.shape()[2]), batches.tensor(1).reshape(-1));
    }
  }

  private final Context context = new Context(new ContextOptions().seed(0));
  private final Device device = new Device("cpu", context);
  private final Launch launch = Halftone.launchRead();
  private final Group group = launch.size > 1 ? Group.launched(device) : null;
  private final Windows windows;
  private final Windows heldOut;
  private final long steps;
  private final AutocastPolicy policy;
  private final Block model;
  private final Fsdp shared;
  private final Optimizer optimizer;

  private TrainGpt(byte[] text, long limit, String precision) {
    int cut = text.length - text.length / 10;
    // Training takes full batches in a random order, so that all processes have as many steps.
    windows = new Windows(tokens(text, 0, cut), new SamplerOptions().batchSize(BATCH / launch.size).dropLast(true)
        .rank(launch.rank).worldSize(launch.size));
    heldOut = new Windows(tokens(text, cut, text.length),
        new SamplerOptions().batchSize(BATCH).shuffle(false).dropLast(false));
    steps = Math.min(limit, windows.sampler.batchesPerEpoch());
    policy = new AutocastPolicy(Dtype.BF16);
    model = Block.transformer(device,
        new TransformerOptions().vocabulary(256).positions(CONTEXT).layers(2).width(64).heads(4));
    if (!precision.equals("bf16")) multiplyBy(new Recipe(RECIPES.get(precision)));
    shared = group == null ? null : new Fsdp(model, group, null,
        new FsdpOptions().unitKind("transformer_block").unitElements(1).weightDtype(Dtype.BF16));
    optimizer = Optimizer.adamw(model, new AdamwOptions().lr(1e-3).computeDtype(Dtype.BF16));
    optimizer.setSchedule(schedule(steps));
  }

  private Tensor tokens(byte[] text, int begin, int end) {
    return Tensor.of(device, Arrays.copyOfRange(text, begin, end)).cast(Dtype.I32);
  }

  /** The layers get the recipe, too: they keep the magnitudes from which fp8-delayed takes its scales. */
  private void multiplyBy(Recipe recipe) {
    policy.setRecipe(recipe);
    model.setRecipeMatching(null, "linear", recipe);
  }

  private static Schedule schedule(long steps) {
    long warmup = steps / WARMUP_SHARE;
    Schedule cosine = Schedule.cosine(steps - warmup, 0);
    return warmup > 0 ? Schedule.warmup(warmup, 1.0 / (warmup + 1), cosine) : cosine;
  }

  private Checkpoint openCheckpoint(String folder) {
    var checkpoint = group == null ? new Checkpoint(context, folder) : Checkpoint.shared(context, folder, group);
    checkpoint.addBlock("model", model);
    checkpoint.addOptimizer("optimizer", optimizer);
    checkpoint.addSampler("sampler", windows.sampler);
    return checkpoint;
  }

  /** The checkpoint may be null. */
  private void train(Checkpoint checkpoint) {
    long done = checkpoint == null ? 0 : Math.max(0, checkpoint.load());  // -1: there is none yet
    for (long step = done + 1; step <= steps; ++step) {
      try (Scope temporaries = Scope.begin()) {
        double loss = trainStep();
        if (launch.rank == 0 && (step % 100 == 0 || step == steps)) {
          System.out.printf("step %d of %d: loss %.4f%n", step, steps, loss);
        }
      }
      if (checkpoint != null && (step % SAVE_EVERY == 0 || step == steps)) checkpoint.save(step);
    }
  }

  private double trainStep() {
    Tensor loss;
    optimizer.zeroGrad();
    try (Scope cast = Halftone.autocast(policy)) {
      loss = windows.nextLoss(model);
    }
    loss.backward();
    optimizer.clipGradNorm(1);
    optimizer.step();
    return loss.item();
  }

  private double validationLoss() {
    double sum = 0;
    long count = 0;
    for (long i = 0; i < Math.min(VALIDATION_BATCHES, heldOut.sampler.batchesPerEpoch()); ++i) {
      try (Scope temporaries = Scope.begin()) {
        double loss = heldOut.nextLoss(model).item();
        long tokens = heldOut.batches.tensor(1).numel();
        sum += loss * tokens;
        count += tokens;
      }
    }
    return sum / count;
  }

  /** Every process has all weights meanwhile, and the first one prints the result. */
  private void finish() {
    try (Scope gathered = shared == null ? null : shared.gather();
        Scope unrecorded = Halftone.noGrad();
        Scope cast = Halftone.autocast(policy)) {
      if (launch.rank != 0) return;
      System.out.printf("validation loss %.6f%n", validationLoss());
    }
  }

  private static Map<String, String> parse(String[] arguments) {
    // samples/data/make_text writes the text.
    var flags = new TreeMap<>(
        Map.of("--text", "build/data/bible-kjv.txt", "--steps", "1000000000", "--checkpoint", "", "--precision", "bf16"));
    for (int i = 0; i < arguments.length; i += 2) {
      if (i + 1 == arguments.length || !flags.containsKey(arguments[i])) {
        System.err.println("usage: TrainGpt [FLAG VALUE]..., with the flags and usual values " + flags);
        System.exit(2);
      }
      flags.put(arguments[i], arguments[i + 1]);
    }
    String precision = flags.get("--precision");
    if (!precision.equals("bf16") && !RECIPES.containsKey(precision)) {
      System.err.println("--precision " + precision + ": expected bf16 or one of " + RECIPES.keySet());
      System.exit(2);
    }
    return flags;
  }

  public static void main(String[] arguments) throws IOException {
    Map<String, String> flags = parse(arguments);
    var run = new TrainGpt(Files.readAllBytes(Path.of(flags.get("--text"))), Long.parseLong(flags.get("--steps")),
        flags.get("--precision"));
    String folder = flags.get("--checkpoint");
    run.train(folder.isEmpty() ? null : run.openCheckpoint(folder));
    run.finish();
  }
}
