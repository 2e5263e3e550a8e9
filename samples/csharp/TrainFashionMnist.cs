using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.IO.Compression;
using System.Linq;
using Halftone;

/// <summary>
/// Trains a network of three linear layers on Fashion-MNIST with AdamW and prints its accuracy on the test images. It is
/// samples/c/train_fashion_mnist.c in C#: with the same flags and seed it computes the same losses.
/// </summary>
sealed class TrainFashionMnist {
  const string Directory = "/usr/share/datasets/fashion-mnist";  // Debian: dataset-fashion-mnist
  const int TestBatch = 1000;
  static readonly Dictionary<string, Dtype> dtypes =
      new Dictionary<string, Dtype> {{"fp32", Dtype.F32}, {"bf16", Dtype.BF16}, {"fp16", Dtype.F16}};
  static readonly string[] known =
      {"--data", "--epochs", "--steps", "--batch", "--lr", "--precision", "--seed", "--log"};

  readonly Dictionary<string, string> flags;
  readonly Dtype dtype;
  readonly Device device;

  TrainFashionMnist(Dictionary<string, string> flags) {
    this.flags = flags;
    if (!dtypes.TryGetValue(Flag("--precision", "bf16"), out dtype)) {
      throw new ArgumentException("--precision takes fp32, bf16 or fp16");
    }
    device = new Device("cpu", new Context(new ContextOptions {Seed = (ulong)Number("--seed", 0)}));
  }

  string Flag(string name, string usual) { return flags.TryGetValue(name, out string given) ? given : usual; }

  long Number(string name, long usual) {
    return flags.TryGetValue(name, out string given) ? long.Parse(given, CultureInfo.InvariantCulture) : usual;
  }

  /// <summary>A file in MNIST's format: a header of big-endian sizes, then bytes.</summary>
  Tensor ReadIdx(string path, int ndim) {
    using (var unpacked = new MemoryStream()) {
      using (var file = new GZipStream(File.OpenRead(path), CompressionMode.Decompress)) file.CopyTo(unpacked);
      var content = unpacked.ToArray();
      var shape = Enumerable.Range(1, ndim)
          .Select(index => content.Skip(4 * index).Take(4).Aggregate(0L, (size, one) => 256 * size + one));
      return Tensor.From(device, content.Skip(4 + 4 * ndim).ToArray(), shape.ToArray());
    }
  }

  (Tensor Images, Tensor Labels) Load(string part) {
    string folder = Flag("--data", Directory);
    var images = ReadIdx(Path.Combine(folder, part + "-images-idx3-ubyte.gz"), 3);
    var labels = ReadIdx(Path.Combine(folder, part + "-labels-idx1-ubyte.gz"), 1);
    return (images.Unsqueeze(1), labels.Cast(Dtype.I64));
  }

  Module MakeModel() {
    return Module.Sequential(
        Module.Rescaling(1 / 255.0, 0),
        Module.Flatten(),
        Module.Linear(device, 28 * 28, 512),
        Module.Relu(),
        Module.Linear(device, 512, 512),
        Module.Relu(),
        Module.Linear(device, 512, 10));
  }

  void Train(Module model, DataLoader data, TextWriter log) {
    long steps = Number("--epochs", 5) * data.BatchesPerEpoch;
    if (flags.ContainsKey("--steps")) steps = Math.Min(steps, Number("--steps", 0));
    double rate = double.Parse(Flag("--lr", "1e-3"), CultureInfo.InvariantCulture);
    var optimizer = Optimizer.Adamw(model, new AdamwOptions {Lr = rate, ComputeDtype = dtype});
    optimizer.SetSchedule(Schedule.Cosine(steps, 0));
    // In fp16 the loss is scaled, so that small gradients do not underflow.
    var scaler = new GradScaler(device, new GradScalerOptions {Enabled = dtype == Dtype.F16});
    for (long step = 1; step <= steps; ++step) {
      using (Scope.Begin()) {
        var loss = Forward(model, data.Next());
        log.WriteLine(FormattableString.Invariant(
            $"{{\"step\": {step}, \"loss\": {loss.Item():R}, \"lr\": {optimizer.Lr:R} }}"));
        if (step % 100 == 0) Console.WriteLine(FormattableString.Invariant($"step {step}: loss {loss.Item():F4}"));
        optimizer.ZeroGrad();
        scaler.Scale(loss).Backward();
        scaler.Step(optimizer);
        scaler.Update();
      }
    }
  }

  Tensor Forward(Module model, Tensor[] batch) {
    using (Ops.Autocast(dtype)) return Ops.CrossEntropy(model.Forward(batch[0]), batch[1]);
  }

  double Accuracy(Module model, (Tensor Images, Tensor Labels) test) {
    long count = test.Labels.Numel;
    double right = 0;
    for (long begin = 0; begin < count; begin += TestBatch) {
      long end = Math.Min(begin + TestBatch, count);
      using (Scope.Begin())
      using (Ops.NoGrad())
      using (Ops.Autocast(dtype)) {
        var logits = model.Forward(test.Images.Slice(0, begin, end));
        right += Ops.Accuracy(logits, test.Labels.Slice(0, begin, end)).Item() * (end - begin);
      }
    }
    return right / count;
  }

  void Run() {
    var (images, labels) = Load("train");
    var test = Load("t10k");
    var sampling = new SamplerOptions {BatchSize = Number("--batch", 128), Seed = (ulong)Number("--seed", 0)};
    var model = MakeModel();
    using (var data = new DataLoader(sampling, images, labels))
    using (var log = new StreamWriter(Flag("--log", "/dev/null"))) {
      Train(model, data, log);
    }
    Console.WriteLine(FormattableString.Invariant($"accuracy {Accuracy(model, test):F4}"));
  }

  static Dictionary<string, string> Parse(string[] arguments) {
    var flags = new Dictionary<string, string>();
    for (int i = 0; i < arguments.Length; i += 2) {
      if (!known.Contains(arguments[i]) || i + 1 == arguments.Length) {
        throw new ArgumentException(arguments[i] + " is no flag with a value; known are " + string.Join(" ", known));
      }
      flags[arguments[i]] = arguments[i + 1];
    }
    return flags;
  }

  static void Main(string[] arguments) { new TrainFashionMnist(Parse(arguments)).Run(); }
}
