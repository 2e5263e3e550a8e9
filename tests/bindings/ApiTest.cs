using System;
using System.Linq;
using System.Runtime.InteropServices;
using BindingFlags = System.Reflection.BindingFlags;
using Halftone;

/// <summary>The C# binding of the whole C API: arguments, results and data.</summary>
static class ApiTest {
  static readonly Device device = new Device("cpu");

  static Tensor Of(params float[] values) { return Tensor.From(device, values); }

  static void Same<T>(T[] actual, params T[] expected) {
    Suite.Check(actual.SequenceEqual(expected), string.Join(" ", actual));
  }

  static void OptionalParametersAreNamed() {
    var x = Tensor.From(device, new float[] {1, 2, 3, 4}, 2, 2);
    Same(x.Sum().ToArray<float>(), 10);
    Same(x.Sum(new long[] {0}).ToArray<float>(), 4, 6);
    Same(x.Sum(keepdim: true).Shape, 1, 1);
    Same(Ops.Linear(x, Tensor.From(device, new float[] {1, 1}, 1, 2)).ToArray<float>(), 3, 7);
  }

  static void OptionsHaveTheDefaultsOfTheHeader() {
    Suite.Equal(new AdamwOptions().WeightDecay, 0.01);
    Suite.Equal(new AdamOptions().WeightDecay, 0.0);
    var plain = Module.Linear(device, 3, 2, new LinearOptions {Bias = false, Dtype = Dtype.BF16});
    Suite.Equal(plain.ParameterCount, 1);
    Suite.Equal(plain.Parameter(0).Dtype, Dtype.BF16);
    Suite.Equal(Module.Linear(device, 3, 2).ParameterCount, 2);
  }

  static void AChangedStructureChangesTheSettings() {
    var optimizer = Optimizer.Adamw(Module.Linear(device, 2, 2), new AdamwOptions {Lr = 0.5});
    var settings = optimizer.Group(0);
    Suite.Equal(settings.Lr, 0.5);
    settings.Lr = 0.25;
    optimizer.SetGroup(0, settings);
    Suite.Equal(optimizer.Lr, 0.25);
  }

  static void StructuresOfResultsHaveNumbersTextAndArrays() {
    var preset = Ops.GradScalerOptionsPreset(ScalerPreset.Megatron);
    Suite.Check(preset.GrowthInterval == 1000 && preset.Fp32Factors, preset.GrowthInterval);
    Suite.Equal(device.MemoryStats().ByCategory.Length, 8);
    using (var context = Context.DefaultContext()) Suite.Equal(context.DeviceInfo(0).Name, "cpu");
  }

  static void SeveralResultsAreATuple() {
    var (values, indices) = Tensor.From(device, new float[] {1, 5, 7, 2}, 2, 2).MaxDim(1);
    Same(values.ToArray<float>(), 5, 7);
    Same(indices.ToArray<long>(), 1, 0);
    var position = new Sampler(new SamplerOptions {Count = 10, BatchSize = 2}).Position();
    Suite.Check(position.Epoch == 0 && position.Batch == 0, position);
    Suite.Equal(new Sampler(new SamplerOptions {Count = 10, BatchSize = 4}).BatchesPerEpoch(), 3L); // every sample
  }

  static void ArraysOfObjectsGoInAndOut() {
    var x = Of(1, 2, 3, 4);
    Same(Ops.Cat(new[] {x, Of(5)}, 0).ToArray<float>(), 1, 2, 3, 4, 5);
    var unused = Of(3);
    x.RequiresGrad = unused.RequiresGrad = true;
    var gradients = Ops.Gradients(new[] {(x * x).Sum()}, new Tensor[0], new[] {x, unused},
                                  new GradientsOptions {AllowUnused = true});
    Same(gradients[0].ToArray<float>(), 2, 4, 6, 8);
    Suite.Check(gradients[1] == null, "an unused input has no gradient");
  }

  static void ArraysThatShareALengthMustHaveOne() {
    var x = Tensor.From(device, new float[] {1, 2, 3, 4}, 2, 2);
    Suite.Raises(Status.InvalidArgument, "shifts has 1 entries, expected 2",
                 () => x.Roll(new long[] {0, 1}, new long[] {1}));
  }

  static void TextAndBytesOfAnyLengthComeBack() {
    var names = Enumerable.Range(0, 40).Select(index => "Schicht_\u00e4_\ud83d\ude00_" + index).ToArray();
    string summary = Module.NamedSequential(names, names.Select(_ => Module.Linear(device, 2, 2)).ToArray()).Summary();
    Suite.Check(summary.Length > 1000 && summary.Contains(names[39]), summary);
    var bytes = Enumerable.Range(0, 200).Select(value => (byte)value).ToArray();
    using (var context = Context.DefaultContext())
    using (var store = Store.Memory(context)) {
      store.Set("key", bytes);
      Same(store.Get("key", 1), bytes);
    }
  }

  static void ArraysOfEveryTypeAreCopied() {
    Same(Tensor.From(device, new[] {1.5, 2}).ToArray<float>(), 1.5f, 2);
    Same(Tensor.From(device, new long[] {1, 2}).ToArray<double>(), 1, 2);
    Same(Tensor.From(device, new[] {1, 2}).ToArray<long>(), 1, 2);
    Same(Tensor.From(device, new short[] {1, -1}).ToArray<int>(), 1, -1);
    Same<short>(Tensor.From(device, new sbyte[] {1, -1}).ToArray<short>(), 1, -1);
    Same(Tensor.From(device, new byte[] {1, 255}).ToArray<int>(), 1, 255);
    Same<byte>(Tensor.From(device, new[] {true, false}).ToArray<byte>(), 1, 0);
    var x = Of(1, 2);
    x.Write(3f, 4f);
    Same(x.ToArray<float>(), 3, 4);
  }

  static void AnArrayMustFillTheShape() {
    Suite.Raises(Status.InvalidArgument, "data has 8 bytes, expected 12", () => Tensor.From(device, new float[2], 3));
    Suite.Raises(Status.InvalidArgument, "", () => Of(1).Write(1f, 2f));
  }

  static void AnArrayIsSharedAndPinned() {
    var array = new float[] {1, 2, 3};
    using (var x = Tensor.Wrap(device, array)) {
      GC.Collect();
      array[0] = 9;
      Same(x.ToArray<float>(), 9, 2, 3);
      x.Fill(5);
    }
    Same(array, 5, 5, 5);
    var whole = Tensor.Wrap(device, array);
    using (var view = whole.Slice(0, 0, 3, 1)) {
      whole.Dispose();
      GC.Collect();
      view.Fill(6);
    }
    Same(array, 6, 6, 6);
    Suite.Raises(Status.InvalidArgument, "data has 12 bytes", () => Tensor.Wrap(device, array, 4));
  }

  static void APartOfAnArrayIsShared() {
    var array = new float[] {1, 2, 3, 4, 5};
    using (var x = Tensor.Wrap(device, new ArraySegment<float>(array, 1, 4), 2, 2)) {
      array[1] = 9;
      Same(x.ToArray<float>(), 9, 3, 4, 5);
      x.Fill(0);
    }
    Same(array, 1, 0, 0, 0, 0);
    Suite.Raises(Status.InvalidArgument, "data has 8 bytes",
                 () => Tensor.Wrap(device, new ArraySegment<float>(array, 3, 2), 4));
  }

  static void SpansAreCopied() {
    var array = new float[] {1, 2, 3, 4, 5, 6};
    var part = new ReadOnlySpan<float>(array, 1, 4);
    var x = Tensor.From(device, part, 2, 2);
    Same(x.ToArray<float>(), 2, 3, 4, 5);
    Same(Tensor.From(device, new ReadOnlySpan<bool>(new[] {true, false})).ToArray<bool>(), true, false);
    Same(Tensor.From(device, new ReadOnlySpan<float>(), 0, 3).Shape, 0, 3);
    var read = new double[6];
    x.Read(new Span<double>(read, 1, 4));
    Same(read, 0, 2, 3, 4, 5, 0);
    x.Write(new ReadOnlySpan<float>(array, 2, 4));
    Same(x.ToArray<float>(), 3, 4, 5, 6);
    Suite.Raises(Status.BufferTooSmall, "", () => x.Read(new Span<float>(array, 0, 3)));
    Suite.Raises(Status.InvalidArgument, "", () => x.Write(new ReadOnlySpan<float>(array, 0, 3)));
    Suite.Raises(Status.InvalidArgument, "data has 24 bytes",
                 () => Tensor.From(device, new ReadOnlySpan<float>(array), 5));
  }

  static void ASpanSharesTheElements() {
    using (var x = Of(1, 2, 3)) {
      var elements = x.AsSpan<float>();
      elements[1] = 7;
      Same(x.ToArray<float>(), 1, 7, 3);
      x.Fill(4);
      Same(elements.ToArray(), 4, 4, 4);
      Same(x.Cast(Dtype.BF16).AsSpan<ushort>().ToArray(), (ushort)0x4080, (ushort)0x4080, (ushort)0x4080);
      Refused<ArgumentException>(() => x.AsSpan<int>());
      Refused<ArgumentException>(() => x.AsSpan<double>());
      Refused<InvalidOperationException>(() => x.Slice(0, 0, 3, 2).AsSpan<float>());
    }
  }

  [DllImport("libhalftone.so.0.1")]
  static extern int htone_tensor_from_buffer_strided(IntPtr device, int dtype, int ndim, long[] shape, long[] strides,
                                                     IntPtr data, IntPtr deleter, IntPtr user, out IntPtr made);

  /// <summary>Two equal rows in one memory, which must not be written. C# alone makes no such tensor.</summary>
  static Tensor EqualRows(IntPtr memory) {
    const BindingFlags hidden = BindingFlags.Instance | BindingFlags.Static | BindingFlags.NonPublic;
    var handle = (IntPtr)typeof(NativeObject).GetProperty("Handle", hidden).GetValue(device);
    IntPtr made;
    int status = htone_tensor_from_buffer_strided(handle, (int)Dtype.F32, 2, new long[] {2, 2}, new long[] {0, 1},
                                                  memory, IntPtr.Zero, IntPtr.Zero, out made);
    Suite.Equal(status, 0);
    return (Tensor)typeof(Tensor).GetMethod("Own", hidden).Invoke(null, new object[] {made});
  }

  static void ASpanOfAReadOnlyTensorIsNotWritable() {
    var memory = new float[] {7, 8};
    var pin = GCHandle.Alloc(memory, GCHandleType.Pinned);
    using (var rows = EqualRows(pin.AddrOfPinnedObject()))
    using (var row = rows[0]) {
      Suite.Raises(Status.State, "read-only", () => row.Fill(1));
      Refused<InvalidOperationException>(() => row.AsSpan<float>());
      Suite.Raises(Status.InvalidArgument, "read-only", () => row.Lend<float>());
      Same(row.AsReadOnlySpan<float>().ToArray(), 7, 8);
      Same(row.Clone().AsSpan<float>().ToArray(), 7, 8);
    }
    pin.Free();
    var leaf = Of(7);
    leaf.RequiresGrad = true;
    Same(leaf.AsSpan<float>().ToArray(), 7);
  }

  static void Refused<T>(Action call) where T : Exception {
    try {
      call();
    } catch (T) {
      return;
    }
    throw new Exception("nothing was thrown");
  }

  /// <summary>The library reads the program's 16-bit gradients and updates its weights, both in place.</summary>
  static void ArraysOfTheProgramAreTrained() {
    var weights = new float[] {1, 2};
    var gradients = new ushort[] {0x4400, 0xC400};  // 4 and -4 in F16: 1 and -1 before the scale
    var parameter = new Parameter("own", Tensor.Wrap(device, weights));
    parameter.SetGrad(Tensor.Wrap(device, Dtype.F16, gradients));
    var parameters = new Parameters();
    parameters.Add(parameter);
    var optimizer = Optimizer.SgdOver(parameters, new SgdOptions {Lr = 0.5});
    var scaler = new GradScaler(device, new GradScalerOptions {InitialScale = 4});
    GC.Collect();
    scaler.Step(optimizer);
    scaler.Update();
    Same(weights, 0.5f, 2.5f);
    gradients[1] = 0x7C00;
    scaler.Step(optimizer);
    scaler.Update();
    Suite.Check(optimizer.Outcome().Skipped, "an infinite gradient was used");
    Suite.Equal(optimizer.Outcome().Parameter, "own");
    Suite.Equal(scaler.CurrentScale(), 2.0);
    Same(weights, 0.5f, 2.5f);
  }

  static void OperatorsCompute() {
    var x = Of(1, 2, 4);
    foreach (var one in new[] {x + x, x * 2, x * x / x + x, (x + 1) * 2 - 2, -(-x - x), x / 0.5}) {
      Same(one.ToArray<float>(), 2, 4, 8);
    }
  }

  static void TheValuesAreShown() {
    Suite.Equal(Tensor.From(device, new long[] {1, 2, 3, 4}, 2, 2).ToString(),
                "tensor([[1, 2],\n        [3, 4]], i64)");
  }

  static void AMaskThatDoesNotFitIsRefused() {
    var x = Of(1, 2);
    Refused<ArgumentException>(() => GC.KeepAlive(x[Of(1) > 0]));
    Refused<ArgumentException>(() => x[Of(1) > 0] = Of(1));
    Refused<ArgumentException>(() => x[Tensor.Arange(2)] = Of(1));
    Refused<ArgumentException>(() => x[x > 0] = Of(1, 2));
    Same(x.ToArray<float>(), 1, 2);
  }

  static void MissingArgumentsAreNamed() {
    Suite.IsMissing("tensors", () => Ops.Cat(null, 0));
    Suite.IsMissing("path", () => Ops.SafetensorsLoad(device, null));
    Suite.IsMissing("names", () => Module.NamedSequential(new[] {"a", null}, new[] {Module.Relu(), Module.Relu()}));
    var x = Of(1, 2);
    Suite.IsMissing("device", () => Tensor.From(null, new[] {1f}));
    Suite.IsMissing("device", () => Tensor.From(null, new ReadOnlySpan<float>(new[] {1f})));
    Suite.IsMissing("device", () => Tensor.Wrap(null, new[] {1f}));
    Suite.IsMissing("values", () => Tensor.From(device, (float[])null));
    Suite.IsMissing("values", () => Tensor.Wrap(device, (float[])null));
    Suite.IsMissing("shape", () => Tensor.From(device, new[] {1f}, null));
    Suite.IsMissing("values", () => x.Read((float[])null));
    Suite.IsMissing("elements", () => x.Read(Dtype.F16, null));
    Suite.IsMissing("values", () => x.Write((float[])null));
    Suite.IsMissing("indices", () => GC.KeepAlive(x[(TensorIndex[])null]));
    Suite.IsMissing("selected", () => GC.KeepAlive(x[(Tensor)null]));
    Suite.IsMissing("value", () => x[0] = null);
    Suite.IsMissing("a", () => GC.KeepAlive((Tensor)null * x));
    Suite.IsMissing("policy", () => Ops.Autocast(null));
    Suite.IsMissing("one", () => Ops.Keep<Tensor>(null));
  }

  static void MissingArgumentsOfDataAreNamed() {
    var options = new SamplerOptions {Count = 2, BatchSize = 1};
    BatchLoader fill = (indices, rows) => {};
    Suite.IsMissing("options", () => new DataLoader((SamplerOptions)null, Of(1)));
    Suite.IsMissing("tensors", () => new DataLoader(options, (Tensor[])null));
    Suite.IsMissing("tokens", () => DataLoader.Windows(options, null, 1, 1));
    Suite.IsMissing("loader", () => DataLoader.FromFunction(device, options, null, new Row(Dtype.F32)));
    Suite.IsMissing("rows", () => DataLoader.FromFunction(device, options, fill, null));
    Suite.IsMissing("device", () => DataLoader.FromFunction(null, options, fill, new Row(Dtype.F32)));
    Suite.IsMissing("sampler", () => Batches.FromFunction(device, null, fill, new Row(Dtype.F32)));
    Suite.IsMissing("shape", () => new Row(Dtype.F32, null));
    Suite.IsMissing("context", () => Store.FromObject(null, new NoStore()));
  }

  sealed class NoStore : IStoreFunctions {
    public void Set(string key, byte[] value) {}
    public byte[] Get(string key, double timeoutSeconds) { return null; }
    public long Add(string key, long amount) { return amount; }
    public bool CompareSet(string key, byte[] expected, byte[] desired) { return false; }
    public bool Remove(string key) { return false; }
  }

  static int Main() {
    var suite = new Suite();
    suite.Test("OptionalParametersAreNamed", OptionalParametersAreNamed);
    suite.Test("OptionsHaveTheDefaultsOfTheHeader", OptionsHaveTheDefaultsOfTheHeader);
    suite.Test("AChangedStructureChangesTheSettings", AChangedStructureChangesTheSettings);
    suite.Test("StructuresOfResults", StructuresOfResultsHaveNumbersTextAndArrays);
    suite.Test("SeveralResultsAreATuple", SeveralResultsAreATuple);
    suite.Test("ArraysOfObjectsGoInAndOut", ArraysOfObjectsGoInAndOut);
    suite.Test("ArraysThatShareALengthMustHaveOne", ArraysThatShareALengthMustHaveOne);
    suite.Test("TextAndBytesOfAnyLengthComeBack", TextAndBytesOfAnyLengthComeBack);
    suite.Test("ArraysOfEveryTypeAreCopied", ArraysOfEveryTypeAreCopied);
    suite.Test("AnArrayMustFillTheShape", AnArrayMustFillTheShape);
    suite.Test("AnArrayIsSharedAndPinned", AnArrayIsSharedAndPinned);
    suite.Test("APartOfAnArrayIsShared", APartOfAnArrayIsShared);
    suite.Test("SpansAreCopied", SpansAreCopied);
    suite.Test("ASpanSharesTheElements", ASpanSharesTheElements);
    suite.Test("ASpanOfAReadOnlyTensorIsNotWritable", ASpanOfAReadOnlyTensorIsNotWritable);
    suite.Test("ArraysOfTheProgramAreTrained", ArraysOfTheProgramAreTrained);
    suite.Test("OperatorsCompute", OperatorsCompute);
    suite.Test("TheValuesAreShown", TheValuesAreShown);
    suite.Test("AMaskThatDoesNotFitIsRefused", AMaskThatDoesNotFitIsRefused);
    suite.Test("MissingArgumentsAreNamed", MissingArgumentsAreNamed);
    suite.Test("MissingArgumentsOfDataAreNamed", MissingArgumentsOfDataAreNamed);
    return suite.Finish();
  }
}
