import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.halftone.Batches;
import org.halftone.Dtype;
import org.halftone.GenerateOptions;
import org.halftone.Halftone;
import org.halftone.Module;
import org.halftone.Sampler;
import org.halftone.SamplerOptions;
import org.halftone.Scope;
import org.halftone.Tensor;
import org.halftone.TransformerOptions;

/**
 * Trains a GPT on the bytes of a text with AdamW, prints its loss on the last tenth of the text, and lets it write.
 *
 * <p>It is samples/c/train_gpt.c in Java, for bytes: with the same flags and seed it computes the same losses.
 * samples/data/make_text writes the default text.
 */
public final class TrainGpt {
  private static final String TEXT = "build/data/bible-kjv.txt";
  private static final List<String> SIZES = List.of("vocabulary", "context", "layers", "width", "heads");
  private static final Map<String, long[]> PRESETS = Map.of("tiny", new long[] {256, 64, 2, 64, 4}, "small",
      new long[] {256, 128, 4, 192, 6}, "gpt2", new long[] {50257, 1024, 12, 768, 12});
  private static final Map<String, String> RECOMPUTED =
      Map.of("full", "transformer_block", "selective", "multihead_attention");
  /** More batches would change the validation loss little. */
  private static final int VALIDATION_BATCHES = 100;
  /** The learning rate climbs in the first twentieth: the first moments of AdamW are noise. */
  private static final int WARMUP_SHARE = 20;

  private final Flags flags;
  private final Trainer trainer;
  private final long context;
  private final long batch;

  private TrainGpt(Flags flags) {
    this.flags = flags;
    trainer = new Trainer(flags);
    context = size("context");
    batch = flags.whole("--batch");
  }

  private long size(String name) {
    if (flags.has("--" + name)) return flags.whole("--" + name);
    return PRESETS.get(flags.text("--preset"))[SIZES.indexOf(name)];
  }

  /** Batches of windows over a part of the text, which do not overlap: tokens, and the tokens that follow. */
  private final class Windows {
    private final Sampler sampler;
    private final Batches batches;

    Windows(Tensor text, boolean isTraining) {
      // Training takes full batches, so that all processes have as many steps; validation takes all windows.
      var options = new SamplerOptions().count(Halftone.windowCount(text.numel(), context, context)).batchSize(batch)
                        .shuffle(isTraining).dropLast(isTraining);
      if (isTraining) {
        options.seed(flags.whole("--seed")).batchSize(batch / trainer.ranks.size).rank(trainer.ranks.rank)
            .worldSize(trainer.ranks.size);
      }
      sampler = new Sampler(options);
      batches = Batches.windows(sampler, text, context, context);
    }

    /** The mean loss of the next batch. */
    Tensor loss() {
      batches.advance();
      Tensor logits = trainer.model.forward(batches.tensor(0));
      long[] shape = logits.shape();
      return Halftone.crossEntropy(logits.reshape(-1, shape[shape.length - 1]), batches.tensor(1).reshape(-1));
    }
  }

  private byte[] read() {
    try {
      return Files.readAllBytes(Path.of(flags.text("--text")));
    } catch (IOException error) {
      throw Flags.refuse("--text " + flags.text("--text") + ": cannot be read; samples/data/make_text writes " + TEXT);
    }
  }

  private Tensor tokens(byte[] text, int begin, int end) {
    return Tensor.of(trainer.device, Arrays.copyOfRange(text, begin, end)).cast(Dtype.I32);
  }

  private void checkSizes(long training, long heldOut) {
    long windows = Halftone.windowCount(training, context, context);
    if (windows < 1 || heldOut <= context) {
      throw Flags.refuse("--context " + context + ": the held-out text has " + heldOut + " bytes");
    }
    if (batch > windows) throw Flags.refuse("--batch " + batch + ": the training text has " + windows + " windows");
    if (size("width") % size("heads") != 0) {
      throw Flags.refuse("--heads " + size("heads") + ": does not divide the width " + size("width"));
    }
  }

  private Module makeModel() {
    Module model = Module.transformer(trainer.device, new TransformerOptions().vocabulary(size("vocabulary"))
        .positions(context).layers(size("layers")).width(size("width")).heads(size("heads")));
    String kind = RECOMPUTED.get(flags.text("--recompute"));
    if (kind != null) model.setRecomputeMatching(null, kind);
    return model;
  }

  /** Adds the gradients of one batch, which is a share of the step's; returns its share of the loss. */
  private double trainBatch(Windows windows, double share) {
    Tensor loss;
    try (Scope cast = Halftone.autocast(trainer.dtype)) {
      loss = windows.loss();
    }
    double value = share * loss.item();
    trainer.backward(loss, share);
    return value;
  }

  private double trainStep(Windows windows) {
    long accumulate = flags.whole("--accumulate");
    double loss = 0;
    try (Scope unsent = accumulate > 1 ? trainer.ranks.noSync() : null) {
      for (long i = 1; i < accumulate; ++i) loss += trainBatch(windows, 1.0 / accumulate);
    }
    return loss + trainBatch(windows, 1.0 / accumulate);
  }

  private double validationLoss(Windows windows) {
    double sum = 0;
    long count = 0;
    for (long i = 0; i < Math.min(VALIDATION_BATCHES, windows.sampler.batchesPerEpoch()); ++i) {
      try (Scope temporaries = Scope.begin()) {
        double loss = windows.loss().item();
        long tokens = windows.batches.tensor(1).numel();
        sum += loss * tokens;
        count += tokens;
      }
    }
    return sum / count;
  }

  /** The text depends on the weights and the seed alone. */
  private void write() {
    trainer.model.setTraining(false);
    Tensor begin = Tensor.of(trainer.device, new long[] {'\n'}, 1, 1);
    Tensor made = trainer.model.generate(begin, new GenerateOptions().newTokens(flags.whole("--generate"))
        .context(context).topK(flags.has("--top-k") ? flags.whole("--top-k") : 0).topP(flags.real("--top-p"))
        .temperature(flags.real("--temperature")).seed(flags.whole("--seed")));
    byte[] bytes = made.slice(1, 1, made.shape()[1]).contiguous().readBytes();
    System.out.println("text:\n" + new String(bytes, StandardCharsets.UTF_8));
  }

  private void run() throws IOException {
    byte[] text = read();
    int cut = text.length - text.length / 10;
    checkSizes(cut, text.length - cut);
    var training = new Windows(tokens(text, 0, cut), true);
    var heldOut = new Windows(tokens(text, cut, text.length), false);
    long accumulate = flags.whole("--accumulate");
    long total = trainer.countSteps(training.sampler.batchesPerEpoch() / accumulate);
    trainer.maxGradNorm = 1;
    trainer.begin(makeModel(), "transformer_block", training.sampler, total, total / WARMUP_SHARE);
    trainer.run(accumulate * batch * context, "bytes", () -> trainStep(training));
    trainer.finish(() -> {
      System.out.printf("validation loss %.6f%n", validationLoss(heldOut));
      if (flags.whole("--generate") > 0) write();
    });
  }

  public static void main(String[] arguments) throws IOException {
    Flags flags = Trainer.flags("Trains a GPT on the bytes of a text, and lets it write.");
    flags.text("--text", TEXT, "the text; its last tenth is held out");
    flags.choice("--preset", List.of("tiny", "small", "gpt2"), "sizes of the model");
    for (String name : SIZES) {
      flags.whole("--" + name, name.equals("vocabulary") ? 256 : 1, null, "instead of the preset's");
    }
    flags.whole("--epochs", 1, "1", "passes over the training text");
    flags.whole("--batch", 1, "16", "windows of text per batch");
    flags.whole("--accumulate", 1, "1", "batches per step");
    flags.choice("--recompute", List.of("none", "full", "selective"), "less memory for more time");
    flags.whole("--generate", 0, "200", "bytes of text to write at the end");
    flags.real("--temperature", "0.8", "of the written text; 0: the most probable byte");
    flags.whole("--top-k", 1, null, "draw from this number of the most probable bytes");
    flags.real("--top-p", "1", "draw from the most probable bytes that reach this");
    flags.parse(arguments);
    new TrainGpt(flags).run();
  }
}
