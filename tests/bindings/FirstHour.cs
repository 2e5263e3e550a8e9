using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Halftone;

/// <summary>
/// Lines that a person types in the first hour, who knows .NET and a library such as TorchSharp: they are counted, and
/// all of them must work.
/// </summary>
static class FirstHour {
  static readonly Device device = new Device("cpu");
  static int typed, worked;

  static void Line(string text, Func<bool> holds) {
    ++typed;
    try {
      if (holds()) {
        ++worked;
        return;
      }
      Console.WriteLine("FAILED " + text + ": it has another result");
    } catch (Exception error) {
      Console.WriteLine("FAILED " + text + ": " + error);
    }
  }

  static bool Has(Tensor x, params double[] expected) { return x.ToArray<double>().SequenceEqual(expected); }

  static T Thrown<T>(Action call) where T : Exception {
    try {
      call();
    } catch (T error) {
      return error;
    }
    throw new Exception("nothing was thrown");
  }

  static void TensorsAreMade() {
    Line("Tensor.Zeros(2, 3)", () => Tensor.Zeros(2, 3).Shape.SequenceEqual(new long[] {2, 3}));
    Line("Tensor.Ones(2)", () => Has(Tensor.Ones(2), 1, 1));
    Line("Tensor.Full(7, 2)", () => Has(Tensor.Full(7, 2), 7, 7));
    Line("Tensor.Arange(3)", () => Has(Tensor.Arange(3), 0, 1, 2));
    Line("Tensor.Eye(2)", () => Has(Tensor.Eye(2), 1, 0, 0, 1));
    Line("Tensor.Randn(2, 3)", () => Tensor.Randn(2, 3).IsFinite().All().Item() == 1);
    Line("Tensor.Rand(100)", () => Tensor.Rand(100).Amax().Item() < 1);
    Line("Tensor.From(array)", () => Has(Tensor.From(new[] {1.0, 2}), 1, 2));
    Line("Tensor.From(array, 2, 2)", () => Tensor.From(new float[4], 2, 2).Shape.Length == 2);
    Line("Tensor.From(rows)", () => Has(Tensor.From(new float[,] {{1, 2}, {3, 4}})[1], 3, 4));
    Line("Tensor.From(span)", () => Has(Tensor.From(new ReadOnlySpan<int>(new[] {1, 2, 3}, 1, 2)), 2, 3));
    Line("new Tensor(device, ...)", () => new Tensor(device, Dtype.BF16, 2).Dtype == Dtype.BF16);
  }

  static void ValuesComeOut() {
    var x = Tensor.From(new float[,] {{1, 2}, {3, 4}});
    Line("x.ToArray<float>()", () => x.ToArray<float>().SequenceEqual(new float[] {1, 2, 3, 4}));
    Line("x.Sum().Item()", () => x.Sum().Item() == 10);
    Line("x.ToString()", () => x.ToString().StartsWith("tensor([[1"));
    Line("x.Shape", () => x.Shape[1] == 2 && x.Numel == 4);
    Line("x.AsSpan<float>()", () => x.AsSpan<float>()[3] == 4);
    Line("x.AsReadOnlySpan<float>()", () => x.AsReadOnlySpan<float>().ToArray()[3] == 4);
    Line("x.Read(span)", () => {
      var read = new double[4];
      x.Read(new Span<double>(read));
      return read[3] == 4;
    });
    Line("x.Write(values)", () => {
      var written = Tensor.Zeros(2);
      written.Write(5f, 6f);
      return Has(written, 5, 6);
    });
    Line("x.Lend<float>()", () => {
      using (var lent = Tensor.Ones(2).Lend<float>()) return lent.Memory.Span[1] == 1;
    });
  }

  static void Indexers() {
    var x = Tensor.From(new float[,] {{1, 2, 3}, {4, 5, 6}});
    Line("x[0]", () => Has(x[0], 1, 2, 3));
    Line("x[1, -1].Item()", () => x[1, -1].Item() == 6);
    Line("x[TensorIndex.Colon, 1]", () => Has(x[TensorIndex.Colon, 1], 2, 5));
    Line("x[TensorIndex.Ellipsis, 0]", () => Has(x[TensorIndex.Ellipsis, 0], 1, 4));
    Line("x[TensorIndex.None]", () => x[TensorIndex.None].Shape.SequenceEqual(new long[] {1, 2, 3}));
    Line("x[1, TensorIndex.Slice(0, 3, 2)]", () => Has(x[1, TensorIndex.Slice(0, 3, 2)], 4, 6));
    Line("x[TensorIndex.Slice(-1)]", () => Has(x[TensorIndex.Slice(-1)], 4, 5, 6));
    Line("x[2]", () => Thrown<IndexOutOfRangeException>(() => GC.KeepAlive(x[2])).Message ==
                       "index 2 of dimension 0, whose size is 2");
    Line("x[x > 4]", () => Has(x[x > 4], 5, 6));
    Line("x[x > 4] = 0", () => {
      var changed = x.Clone();
      changed[changed > 4] = Tensor.Full(0);
      return Has(changed, 1, 2, 3, 4, 0, 0);
    });
    Line("x[indices]", () => Has(x[Tensor.From(new long[] {1, 0})], 4, 5, 6, 1, 2, 3));
    Line("x[0] = y", () => {
      var changed = Tensor.Zeros(2, 2);
      changed[0] = Tensor.From(new float[] {7, 8});
      changed[1] = Tensor.Full(9);
      return Has(changed, 7, 8, 9, 9);
    });
  }

  static void Arithmetic() {
    var x = Tensor.From(new float[] {1, 2});
    Line("x + 1", () => Has(x + 1, 2, 3));
    Line("2 * x", () => Has(2 * x, 2, 4));
    Line("1 - x", () => Has(1 - x, 0, -1));
    Line("0.5 - x", () => Has(0.5 - x, -0.5, -1.5));
    Line("2 / x", () => Has(2 / x, 2, 1));
    Line("1 - integers", () => (1 - Tensor.From(new[] {1, 2})).Dtype == Dtype.I32);
    Line("x * x - x / 2", () => Has(x * x - x / 2, 0.5, 3));
    Line("-x", () => Has(-x, -1, -2));
    Line("x > 1, 1 < x", () => Has(x > 1, 0, 1) && Has(1 < x, 0, 1));
    Line("(x >= 1) & !(x > 1)", () => Has((x >= 1) & !(x > 1), 1, 0));
    Line("x.Pow(2)", () => Has(x.Pow(2), 1, 4));
    Line("x.Matmul(y)", () => Has(Tensor.Eye(2).Matmul(Tensor.From(new float[,] {{1}, {2}})), 1, 2));
    Line("var (values, indices) = x.MaxDim(0)", () => {
      var (values, indices) = x.MaxDim(0);
      return values.Item() == 2 && indices.Item() == 1;
    });
    Line("x.Sum(keepdim: true, dims: ...)", () => x.Sum(dims: new long[] {0}, keepdim: true).Shape.Length == 1);
  }

  static Module Network() {
    return Module.Sequential(Module.Linear(device, 2, 8), Module.Relu(), Module.Linear(device, 8, 2));
  }

  sealed class Twice : CustomModule {
    protected override Tensor Forward(Tensor x) { return x * 2; }
  }

  static void Modules() {
    var model = Network();
    Line("Console.WriteLine(model)", () => model.ToString() == model.Summary());
    Line("model.Parameters()", () => model.Parameters().Sum(one => one.Tensor.Numel) == 2 * 8 + 8 + 8 * 2 + 2);
    Line("foreach over Parameters", () => Parameters.FromModule(model).Select(one => one.Name).Last() == "bias");
    Line("foreach over StateDict", () => model.StateDict().Sum(one => one.Value.Numel) == 2 * 8 + 8 + 8 * 2 + 2);
    Line("state[name]", () => {
      var state = new StateDict {{"weight", Tensor.Ones(2)}};
      return Has(state["weight"], 1, 1) && Thrown<InvalidArgumentException>(() => GC.KeepAlive(state["bias"])) != null;
    });
    Line("model.Children()", () => model.Children()[1].Kind == "relu");
    Line("model.Eval()", () => !model.Eval().IsTraining && model.Train().IsTraining);
    Line("using (hook)", () => {
      int calls = 0;
      using (model.AddForwardHook((self, inputs, outputs) => {
        ++calls;
        return null;
      })) model.Forward(Tensor.Zeros(1, 2));
      model.Forward(Tensor.Zeros(1, 2));
      return calls == 1;
    });
    Line("a module of one's own", () => Has(new Twice().ToModule().Forward(Tensor.Ones(1)), 2));
    Line("model.LoadStateDict", () => {
      var other = Network();
      other.LoadStateDict(model.StateDict());
      return (other.Parameter(0).Tensor - model.Parameter(0).Tensor).AbsMax().Item() == 0;
    });
  }

  static DataLoader Loader() {
    var x = Tensor.Randn(256, 2);
    return new DataLoader(new SamplerOptions {BatchSize = 32, Seed = 1}, x, (x.Sum(1) > 0).Cast(Dtype.I64));
  }

  static double Train(Module model, DataLoader loader, CancellationToken cancellation) {
    var optimizer = Optimizer.Adamw(model, new AdamwOptions {Lr = 0.05, ComputeDtype = Dtype.BF16});
    double last = 0;
    for (int epoch = 0; epoch < 10; ++epoch) {
      foreach (var batch in loader.Epoch(cancellation)) {
        using (Scope.Begin()) {
          optimizer.ZeroGrad();
          Tensor loss;
          using (Ops.Autocast(Dtype.BF16)) loss = Ops.CrossEntropy(model.Forward(batch[0]), batch[1]);
          loss.Backward();
          optimizer.Step();
          last = loss.Item();
        }
      }
    }
    return last;
  }

  static async Task<bool> RecordsInNoGrad() {
    var x = Tensor.Ones(1);
    x.RequiresGrad = true;
    using (Ops.NoGrad()) {
      await Task.Yield();
      return (x * 2).RequiresGrad;
    }
  }

  static async Task<double> TrainLater() {
    double loss = await Task.Run(() => Train(Network(), Loader(), CancellationToken.None));
    await Task.Yield();
    return loss;
  }

  static void Training() {
    Line("a training loop in BF16", () => Train(Network(), Loader(), CancellationToken.None) < 0.2);
    Line("await Task.Run(train)", () => TrainLater().Result < 0.2);
    Line("await in NoGrad", () => !RecordsInNoGrad().Result);
    Line("a task that is cancelled", () => {
      using (var stop = new CancellationTokenSource()) {
        var model = Network();
        model.AddForwardHook((self, inputs, outputs) => {
          stop.Cancel();
          return null;
        });
        var task = Task.Run(() => Train(model, Loader(), stop.Token), stop.Token);
        Thrown<AggregateException>(task.Wait);
        return task.IsCanceled;
      }
    });
    Line("using (Ops.Cancellation(token))", () => {
      using (var stop = new CancellationTokenSource()) {
        stop.Cancel();
        using (Ops.Cancellation(stop.Token)) Thrown<OperationCanceledException>(() => Tensor.Ones(1).Add(1));
        return Has(Tensor.Ones(1) + 1, 2);
      }
    });
    Line("foreach (var batch in loader)", () => Loader().Count() == 8);
    Line("new DataLoader(100, x)", () => new DataLoader(100, Tensor.Zeros(256, 2)).BatchesPerEpoch == 3);
    Line("DataLoader.Windows", () => {
      var options = new SamplerOptions {BatchSize = 2, Shuffle = false};
      var first = DataLoader.Windows(options, Tensor.Arange(9), 4, 4).First();
      return Has(first[0][0], 0, 1, 2, 3) && Has(first[1][0], 1, 2, 3, 4);
    });
    Line("DataLoader.FromFunction", () => {
      var options = new SamplerOptions {BatchSize = 2, Count = 4, Shuffle = false};
      var made = DataLoader.FromFunction(
          device, options, (indices, rows) => rows[0].Write(indices.Select(one => (float)one).ToArray()),
          new Row(Dtype.F32));
      return made.Sum(batch => batch[0].Sum().Item()) == 0 + 1 + 2 + 3;
    });
    Line("using (Ops.NoGrad())", () => {
      var x = Tensor.Ones(1);
      x.RequiresGrad = true;
      using (Ops.NoGrad()) return !(x * 2).RequiresGrad;
    });
    Line("Parallel inference", () => {
      var model = Network().Eval();
      long rows = 0;
      Parallel.For(0, 20, _ => {
        using (Scope.Begin())
        using (Ops.NoGrad()) Interlocked.Add(ref rows, model.Forward(Tensor.Randn(4, 2)).Shape[0]);
      });
      return rows == 80;
    });
    Line("a file of weights", () => {
      string file = Path.GetTempFileName();
      var model = Network();
      using (var context = Context.DefaultContext()) Ops.SafetensorsSave(context, file, model.StateDict());
      var other = Network();
      other.LoadFile(file);
      File.Delete(file);
      return (other.Parameter(0).Tensor - model.Parameter(0).Tensor).AbsMax().Item() == 0;
    });
  }

  static void Mistakes() {
    Line("shapes that do not match", () => Thrown<ShapeMismatchException>(
        () => Tensor.Zeros(2, 3).Matmul(Tensor.Zeros(2, 3))).Message.Contains("b.shape[0]=2"));
    Line("error.Argument", () => Thrown<InvalidArgumentException>(
        () => Module.Linear(device, 0, 3)).Argument == "inFeatures");
    Line("null", () => Thrown<ArgumentNullException>(() => Tensor.Ones(1).Add(null)).ParamName == "b");
    Line("x + null", () => Thrown<ArgumentNullException>(() => GC.KeepAlive(Tensor.Ones(1) + (Tensor)null)) != null);
    Line("after Dispose", () => {
      var x = Tensor.Ones(1);
      x.Dispose();
      return Thrown<ObjectDisposedException>(() => x.Add(1)).ObjectName == "Tensor" &&
             x.ToString() == "Tensor[disposed]";
    });
    Line("after the scope", () => {
      Tensor x;
      using (Scope.Begin()) x = Tensor.Ones(1);
      return x.ToString().Contains("htone_tensor_format");
    });
    Line("options are equal and shown", () =>
        new AdamwOptions {Lr = 0.5}.Equals(new AdamwOptions {Lr = 0.5}) &&
        !new AdamwOptions().Equals(new AdamwOptions {Lr = 0.5}) &&
        new LinearOptions().ToString().StartsWith("LinearOptions { Bias = True"));
    Line("a set of options", () => new HashSet<object> {new LinearOptions()}.Contains(new LinearOptions()));
  }

  static int Main() {
    TensorsAreMade();
    ValuesComeOut();
    Indexers();
    Arithmetic();
    Modules();
    Training();
    Mistakes();
    Console.WriteLine($"{worked} of {typed} lines work, {typed - worked} failed");
    return worked == typed ? 0 : 1;
  }
}
