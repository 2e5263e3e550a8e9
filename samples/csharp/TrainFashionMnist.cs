using System;
using System.IO;
using System.IO.Compression;
using System.Linq;
using Halftone;

/// <summary>
/// Trains a network on Fashion-MNIST with AdamW and prints its accuracy on the test images. It is
/// samples/c/train_fashion_mnist.c in C#: with the same flags and seed it computes the same losses.
/// </summary>
sealed class TrainFashionMnist {
  const string Directory = "/usr/share/datasets/fashion-mnist";  // Debian: dataset-fashion-mnist
  const int TestBatch = 1000;

  readonly Flags flags;
  readonly Trainer trainer;

  TrainFashionMnist(Flags flags) {
    this.flags = flags;
    trainer = new Trainer(flags);
  }

  /// <summary>A file in MNIST's format: a header of big-endian sizes, then bytes.</summary>
  Tensor ReadIdx(string name, int ndim) {
    using (var unpacked = new MemoryStream()) {
      string path = Path.Combine(flags.Text("--data"), name);
      using (var file = new GZipStream(File.OpenRead(path), CompressionMode.Decompress)) file.CopyTo(unpacked);
      var content = unpacked.ToArray();
      var shape = Enumerable.Range(1, ndim)
          .Select(index => content.Skip(4 * index).Take(4).Aggregate(0L, (size, one) => 256 * size + one));
      return Tensor.From(trainer.Device, content.Skip(4 + 4 * ndim).ToArray(), shape.ToArray());
    }
  }

  (Tensor Images, Tensor Labels) Load(string part) {
    var images = ReadIdx(part + "-images-idx3-ubyte.gz", 3);
    var labels = ReadIdx(part + "-labels-idx1-ubyte.gz", 1);
    return (images.Unsqueeze(1), labels.Cast(Dtype.I64));
  }

  Module MakeMlp(Device device) {
    return Module.Sequential(
        Module.Rescaling(1 / 255.0, 0),
        Module.Flatten(),
        Module.Linear(device, 28 * 28, 512),
        Module.Relu(),
        Module.Linear(device, 512, 512),
        Module.Relu(),
        Module.Linear(device, 512, 10));
  }

  Module MakeCnn(Device device) {
    var padded = new ConvOptions {PaddingH = 1, PaddingW = 1};
    return Module.Sequential(
        Module.Rescaling(1 / (255 * 0.353), -0.286 / 0.353),  // to mean 0 and deviation 1: convolutions pad with 0
        Module.Conv2d(device, 1, 32, 3, 3, padded),
        Module.Relu(),
        Module.MaxPool2d(2, 2),
        Module.Conv2d(device, 32, 64, 3, 3, padded),
        Module.Relu(),
        Module.MaxPool2d(2, 2),
        Module.Flatten(),
        Module.Linear(device, 64 * 7 * 7, 128),
        Module.Relu(),
        Module.Linear(device, 128, 10));
  }

  double TrainStep(Tensor[] batch) {
    Tensor loss;
    using (Ops.Autocast(trainer.Dtype)) loss = Ops.CrossEntropy(trainer.Model.Forward(batch[0]), batch[1]);
    double value = loss.Item();
    trainer.Backward(loss, 1);
    return value;
  }

  double Accuracy((Tensor Images, Tensor Labels) test) {
    long count = test.Labels.Numel;
    double right = 0;
    for (long begin = 0; begin < count; begin += TestBatch) {
      long end = Math.Min(begin + TestBatch, count);
      using (Scope.Begin()) {
        var logits = trainer.Model.Forward(test.Images.Slice(0, begin, end));
        right += Ops.Accuracy(logits, test.Labels.Slice(0, begin, end)).Item() * (end - begin);
      }
    }
    return right / count;
  }

  void Run() {
    var (images, labels) = Load("train");
    var test = Load("t10k");
    var ranks = trainer.Ranks;
    long batch = flags.Whole("--batch");
    // All steps have as many images, and all processes as many steps.
    var sampling = new SamplerOptions {
      BatchSize = batch / ranks.Size, Seed = (ulong)flags.Whole("--seed"), DropLast = true, Rank = ranks.Rank,
      WorldSize = ranks.Size};
    var model = flags.Text("--model") == "mlp" ? MakeMlp(trainer.Device) : MakeCnn(trainer.Device);
    using (var data = new DataLoader(sampling, images, labels)) {
      trainer.Begin(model, "linear", data.Sampler, trainer.CountSteps(data.BatchesPerEpoch), 0);
      trainer.Run(batch, "images", () => TrainStep(data.Next()));
    }
    trainer.Finish(() => Console.WriteLine(FormattableString.Invariant($"accuracy {Accuracy(test):F4}")));
  }

  static void Main(string[] arguments) {
    var flags = Trainer.MakeFlags("Trains a network on Fashion-MNIST and prints its accuracy on the test images.");
    flags.AddText("--data", Directory, "folder of the four data files");
    flags.AddChoice("--model", new[] {"mlp", "cnn"}, "linear layers alone, or convolutions");
    flags.AddWhole("--epochs", 1, "5", "passes over the training images");
    flags.AddWhole("--batch", 1, "128", "images per step");
    flags.Parse(arguments);
    new TrainFashionMnist(flags).Run();
  }
}
