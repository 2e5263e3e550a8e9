using System;
using Halftone;

/// <summary>
/// Trains a small network with a trainer, as docs/trainer.md explains. It is samples/c/train_classifier.c: the losses
/// are equal. Arguments: the precision, and a directory to save checkpoints in and to go on from.
/// </summary>
static class TrainClassifier {
  const int PointCount = 2000;

  /// <summary>
  /// Points of a square; the class tells the diagonal of the point's quadrant, and whether it is near the centre.
  /// </summary>
  static Batches Points(Device device, uint state) {
    var points = new float[2 * PointCount];
    var classes = new long[PointCount];
    for (int i = 0; i < 2 * PointCount; ++i) {
      state = unchecked(state * 1664525 + 1013904223);
      points[i] = (state >> 16) / 32768f - 1;
    }
    for (int i = 0; i < PointCount; ++i) {
      double x = points[2 * i], y = points[2 * i + 1];
      classes[i] = (x * y > 0 ? 1 : 0) + (x * x + y * y < 0.5 ? 2 : 0);
    }
    return new Batches(new Sampler(new SamplerOptions {Count = PointCount, BatchSize = 50}),
                       Tensor.From(device, points, PointCount, 2), Tensor.From(device, classes));
  }

  static void Main(string[] arguments) {
    var device = new Device("cpu");
    var model = Module.Sequential(Module.Linear(device, 2, 64), Module.Relu(), Module.Linear(device, 64, 4));
    var options = new TrainerOptions {
      Resume = true, Epochs = 5, Lr = 1e-2, MaxGradNorm = 1, EvaluateEvery = 50, CheckpointEvery = 50};
    if (arguments.Length > 0) options.Precision = arguments[0];
    if (arguments.Length > 1) options.Checkpoint = arguments[1];
    var trainer = new Trainer(model, Points(device, 1), options);
    trainer.SetEvaluation(Points(device, 2));
    while (trainer.Next() != TrainerPhase.Done) {
      using (Scope.Begin())
      using (trainer.Turn()) {
        var logits = model.Forward(trainer.Tensor(0));
        trainer.TakeLoss(Ops.CrossEntropy(logits, trainer.Tensor(1)));
      }
    }
    var progress = trainer.Describe();
    Console.WriteLine(FormattableString.Invariant(
        $"step {progress.Step}: loss of other points {progress.EvaluationLoss:F6}"));
  }
}
