import static org.halftone.Halftone.accuracy;
import static org.halftone.Halftone.autocast;
import static org.halftone.Halftone.crossEntropy;
import static org.halftone.Halftone.noGrad;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.zip.GZIPInputStream;
import org.halftone.AdamwOptions;
import org.halftone.Context;
import org.halftone.ContextOptions;
import org.halftone.DataLoader;
import org.halftone.Device;
import org.halftone.Dtype;
import org.halftone.GradScaler;
import org.halftone.GradScalerOptions;
import org.halftone.Module;
import org.halftone.Optimizer;
import org.halftone.SamplerOptions;
import org.halftone.Schedule;
import org.halftone.Scope;
import org.halftone.Tensor;

/**
 * Trains a network of three linear layers on Fashion-MNIST with AdamW and prints its accuracy on the test images.
 *
 * <p>It is samples/c/train_fashion_mnist.c in Java: with the same flags and seed it computes the same losses.
 */
public final class TrainFashionMnist {
  private static final String DIRECTORY = "/usr/share/datasets/fashion-mnist";  // Debian: dataset-fashion-mnist
  private static final int TEST_BATCH = 1000;
  private static final Map<String, Dtype> DTYPES = Map.of("fp32", Dtype.F32, "bf16", Dtype.BF16, "fp16", Dtype.F16);
  private static final Set<String> FLAGS =
      Set.of("--data", "--epochs", "--steps", "--batch", "--lr", "--precision", "--seed", "--log");

  private record Images(Tensor images, Tensor labels) {}

  private final Map<String, String> flags;
  private final Dtype dtype;
  private final Device device;

  private TrainFashionMnist(Map<String, String> flags) {
    this.flags = flags;
    dtype = DTYPES.get(flags.getOrDefault("--precision", "bf16"));
    if (dtype == null) throw new IllegalArgumentException("--precision takes fp32, bf16 or fp16");
    device = new Device("cpu", new Context(new ContextOptions().seed(number("--seed", 0))));
  }

  private long number(String flag, long usual) {
    return flags.containsKey(flag) ? Long.parseLong(flags.get(flag)) : usual;
  }

  /** A file in MNIST's format: a header of big-endian sizes, then bytes. */
  private Tensor readIdx(Path path, int ndim) throws IOException {
    try (var file = new DataInputStream(new BufferedInputStream(new GZIPInputStream(Files.newInputStream(path))))) {
      file.readInt();
      long[] shape = new long[ndim];
      for (int i = 0; i < ndim; ++i) shape[i] = file.readInt();
      return Tensor.of(device, file.readAllBytes(), shape);
    }
  }

  private Images load(String part) throws IOException {
    Path folder = Path.of(flags.getOrDefault("--data", DIRECTORY));
    Tensor images = readIdx(folder.resolve(part + "-images-idx3-ubyte.gz"), 3);
    Tensor labels = readIdx(folder.resolve(part + "-labels-idx1-ubyte.gz"), 1);
    return new Images(images.unsqueeze(1), labels.cast(Dtype.I64));
  }

  private Module makeModel() {
    return Module.sequential(
        Module.rescaling(1 / 255.0, 0),
        Module.flatten(),
        Module.linear(device, 28 * 28, 512),
        Module.relu(),
        Module.linear(device, 512, 512),
        Module.relu(),
        Module.linear(device, 512, 10));
  }

  private void train(Module model, DataLoader data, PrintWriter log) {
    long steps = number("--epochs", 5) * data.batchesPerEpoch();
    if (flags.containsKey("--steps")) steps = Math.min(steps, number("--steps", 0));
    double rate = Double.parseDouble(flags.getOrDefault("--lr", "1e-3"));
    var optimizer = Optimizer.adamw(model, new AdamwOptions().lr(rate).computeDtype(dtype));
    optimizer.setSchedule(Schedule.cosine(steps, 0));
    // In fp16 the loss is scaled, so that small gradients do not underflow.
    var scaler = new GradScaler(device, new GradScalerOptions().enabled(dtype == Dtype.F16));
    for (long step = 1; step <= steps; ++step) {
      try (var temporaries = Scope.begin()) {
        Tensor loss = forward(model, data.next());
        log.printf("{\"step\": %d, \"loss\": %s, \"lr\": %s}%n", step, loss.item(), optimizer.lr());
        if (step % 100 == 0) System.out.printf("step %d: loss %.4f%n", step, loss.item());
        optimizer.zeroGrad();
        scaler.scale(loss).backward();
        scaler.step(optimizer);
        scaler.update();
      }
    }
  }

  private Tensor forward(Module model, Tensor[] batch) {
    try (var cast = autocast(dtype)) {
      return crossEntropy(model.forward(batch[0]), batch[1]);
    }
  }

  private double accuracyOf(Module model, Images test) {
    long count = test.labels.numel();
    double right = 0;
    for (long begin = 0; begin < count; begin += TEST_BATCH) {
      long end = Math.min(begin + TEST_BATCH, count);
      try (var temporaries = Scope.begin(); var unrecorded = noGrad(); var cast = autocast(dtype)) {
        Tensor logits = model.forward(test.images.slice(0, begin, end));
        right += accuracy(logits, test.labels.slice(0, begin, end)).item() * (end - begin);
      }
    }
    return right / count;
  }

  private void run() throws IOException {
    Images images = load("train");
    Images test = load("t10k");
    var sampling = new SamplerOptions().batchSize(number("--batch", 128)).seed(number("--seed", 0));
    var model = makeModel();
    Path path = Path.of(flags.getOrDefault("--log", "/dev/null"));
    try (var data = new DataLoader(sampling, images.images, images.labels);
        var log = new PrintWriter(Files.newBufferedWriter(path))) {
      train(model, data, log);
    }
    System.out.printf("accuracy %.4f%n", accuracyOf(model, test));
  }

  private static Map<String, String> parse(String[] arguments) {
    Map<String, String> flags = new HashMap<>();
    for (int i = 0; i < arguments.length; i += 2) {
      if (!FLAGS.contains(arguments[i]) || i + 1 == arguments.length) {
        throw new IllegalArgumentException(arguments[i] + " is no flag with a value; known are " + FLAGS);
      }
      flags.put(arguments[i], arguments[i + 1]);
    }
    return flags;
  }

  public static void main(String[] arguments) throws IOException {
    new TrainFashionMnist(parse(arguments)).run();
  }
}
