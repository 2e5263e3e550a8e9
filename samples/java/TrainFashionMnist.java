import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.halftone.ConvOptions;
import org.halftone.DataLoader;
import org.halftone.Device;
import org.halftone.Dtype;
import org.halftone.Halftone;
import org.halftone.Module;
import org.halftone.SamplerOptions;
import org.halftone.Scope;
import org.halftone.Tensor;

/**
 * Trains a network on Fashion-MNIST with AdamW and prints its accuracy on the test images.
 *
 * <p>It is samples/c/train_fashion_mnist.c in Java: with the same flags and seed it computes the same losses.
 */
public final class TrainFashionMnist {
  private static final String DIRECTORY = "/usr/share/datasets/fashion-mnist";  // Debian: dataset-fashion-mnist
  private static final int TEST_BATCH = 1000;

  private record Images(Tensor images, Tensor labels) {}

  private final Flags flags;
  private final Trainer trainer;

  private TrainFashionMnist(Flags flags) {
    this.flags = flags;
    trainer = new Trainer(flags);
  }

  /** A file in MNIST's format: a header of big-endian sizes, then bytes. */
  private Tensor readIdx(String name, int ndim) throws IOException {
    Path path = Path.of(flags.text("--data"), name);
    try (var file = new DataInputStream(new BufferedInputStream(new GZIPInputStream(Files.newInputStream(path))))) {
      file.readInt();
      long[] shape = new long[ndim];
      for (int i = 0; i < ndim; ++i) shape[i] = file.readInt();
      return Tensor.of(trainer.device, file.readAllBytes(), shape);
    }
  }

  private Images load(String part) throws IOException {
    Tensor images = readIdx(part + "-images-idx3-ubyte.gz", 3);
    Tensor labels = readIdx(part + "-labels-idx1-ubyte.gz", 1);
    return new Images(images.unsqueeze(1), labels.cast(Dtype.I64));
  }

  private Module makeMlp(Device device) {
    return Module.sequential(
        Module.rescaling(1 / 255.0, 0),
        Module.flatten(),
        Module.linear(device, 28 * 28, 512),
        Module.relu(),
        Module.linear(device, 512, 512),
        Module.relu(),
        Module.linear(device, 512, 10));
  }

  private Module makeCnn(Device device) {
    var padded = new ConvOptions().paddingH(1).paddingW(1);
    return Module.sequential(
        Module.rescaling(1 / (255 * 0.353), -0.286 / 0.353),  // to mean 0 and deviation 1: convolutions pad with 0
        Module.conv2d(device, 1, 32, 3, 3, padded),
        Module.relu(),
        Module.maxPool2d(2, 2),
        Module.conv2d(device, 32, 64, 3, 3, padded),
        Module.relu(),
        Module.maxPool2d(2, 2),
        Module.flatten(),
        Module.linear(device, 64 * 7 * 7, 128),
        Module.relu(),
        Module.linear(device, 128, 10));
  }

  private double trainStep(Tensor[] batch) {
    Tensor loss;
    try (Scope cast = Halftone.autocast(trainer.dtype)) {
      loss = Halftone.crossEntropy(trainer.model.forward(batch[0]), batch[1]);
    }
    double value = loss.item();
    trainer.backward(loss, 1);
    return value;
  }

  private double accuracy(Images test) {
    long count = test.labels.numel();
    double right = 0;
    for (long begin = 0; begin < count; begin += TEST_BATCH) {
      long end = Math.min(begin + TEST_BATCH, count);
      try (Scope temporaries = Scope.begin()) {
        Tensor logits = trainer.model.forward(test.images.slice(0, begin, end));
        right += Halftone.accuracy(logits, test.labels.slice(0, begin, end)).item() * (end - begin);
      }
    }
    return right / count;
  }

  private void run() throws IOException {
    Images images = load("train");
    Images test = load("t10k");
    long batch = flags.whole("--batch");
    // All steps have as many images, and all processes as many steps.
    var sampling = new SamplerOptions().batchSize(batch / trainer.ranks.size).seed(flags.whole("--seed"))
                       .dropLast(true).rank(trainer.ranks.rank).worldSize(trainer.ranks.size);
    Module model = flags.text("--model").equals("mlp") ? makeMlp(trainer.device) : makeCnn(trainer.device);
    try (var data = new DataLoader(sampling, images.images, images.labels)) {
      trainer.begin(model, "linear", data.sampler(), trainer.countSteps(data.batchesPerEpoch()), 0);
      trainer.run(batch, "images", () -> trainStep(data.next()));
    }
    trainer.finish(() -> System.out.printf("accuracy %.4f%n", accuracy(test)));
  }

  public static void main(String[] arguments) throws IOException {
    Flags flags = Trainer.flags("Trains a network on Fashion-MNIST and prints its accuracy on the test images.");
    flags.text("--data", DIRECTORY, "folder of the four data files");
    flags.choice("--model", List.of("mlp", "cnn"), "linear layers alone, or convolutions");
    flags.whole("--epochs", 1, "5", "passes over the training images");
    flags.whole("--batch", 1, "128", "images per step");
    flags.parse(arguments);
    new TrainFashionMnist(flags).run();
  }
}
