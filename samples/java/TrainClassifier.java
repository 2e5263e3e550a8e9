import java.util.Locale;
import org.halftone.*;

/**
 * Trains a small network with a trainer, as docs/trainer.md explains. It is samples/c/train_classifier.c: the losses are
 * equal. Arguments: the precision, and a directory to save checkpoints in and to go on from.
 */
public final class TrainClassifier {
  private static final int POINTS = 2000;

  /** Points of a square; the class tells the diagonal of the point's quadrant, and whether it is near the centre. */
  private static Batches points(Device device, int state) {
    float[] points = new float[2 * POINTS];
    long[] classes = new long[POINTS];
    for (int i = 0; i < 2 * POINTS; ++i) {
      state = state * 1664525 + 1013904223;
      points[i] = (state >>> 16) / 32768f - 1;
    }
    for (int i = 0; i < POINTS; ++i) {
      double x = points[2 * i];
      double y = points[2 * i + 1];
      classes[i] = (x * y > 0 ? 1 : 0) + (x * x + y * y < 0.5 ? 2 : 0);
    }
    return new Batches(new Sampler(new SamplerOptions().count(POINTS).batchSize(50)),
        Tensor.of(device, points, POINTS, 2), Tensor.of(device, classes));
  }

  public static void main(String[] arguments) {
    Device device = new Device("cpu");
    Block model = Block.sequential(Block.linear(device, 2, 64), Block.relu(), Block.linear(device, 64, 4));
    var options = new TrainerOptions().resume(true).epochs(5).lr(1e-2).maxGradNorm(1).evaluateEvery(50).checkpointEvery(50);
    if (arguments.length > 0) options.precision(arguments[0]);
    if (arguments.length > 1) options.checkpoint(arguments[1]);
    Trainer trainer = new Trainer(model, points(device, 1), options);
    trainer.setEvaluation(points(device, 2));
    while (trainer.next() != TrainerPhase.DONE) {
      try (Scope temporaries = Scope.begin(); Scope turn = trainer.turn()) {
        Tensor logits = model.forward(trainer.tensor(0));
        trainer.takeLoss(Halftone.crossEntropy(logits, trainer.tensor(1)));
      }
    }
    TrainerProgress progress = trainer.describe();
    System.out.printf(Locale.ROOT, "step %d: loss of other points %.6f%n", progress.step, progress.evaluationLoss);
  }
}
