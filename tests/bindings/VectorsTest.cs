using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Halftone;
using List = System.Collections.Generic.List<object>;
using Map = System.Collections.Generic.Dictionary<string, object>;

/// <summary>
/// Runs the conformance vectors through the C# binding. Its argument is the folder of the vectors.
/// </summary>
static class VectorsTest {
  static readonly Device device = new Device("cpu");
  static readonly VectorCalls calls = new VectorCalls(device);
  static readonly Dtype[] floats = {Dtype.F64, Dtype.F32, Dtype.F16, Dtype.BF16, Dtype.F8E4M3, Dtype.F8E5M2};

  sealed class Mismatch : Exception {
    internal Mismatch(string message) : base(message) {}
  }

  static Map MapOf(object value) { return (Map)value ?? new Map(); }

  static object At(Map map, string name) { return map.TryGetValue(name, out object value) ? value : null; }

  static List ListAt(Map map, string name) { return (List)At(map, name) ?? new List(); }

  static IEnumerable<object> Flat(object nested) {
    return nested is List list ? list.SelectMany(Flat) : new[] {nested};
  }

  static double[] Doubles(object nested) { return Flat(nested).Select(VectorCalls.Number).ToArray(); }

  static long[] Longs(object nested) { return Flat(nested).Select(Convert.ToInt64).ToArray(); }

  static Dtype DtypeOf(object name) { return (Dtype)Enum.Parse(typeof(Dtype), (string)name, true); }

  static string Text<T>(IEnumerable<T> values) { return "[" + string.Join(", ", values) + "]"; }

  sealed class Described {
    internal readonly Dtype Dtype;
    internal readonly long[] Shape;
    internal readonly object Numbers;

    internal Described(Map given) {
      string name = given.Keys.First(key => key != "shape" && key != "grad");
      Dtype = DtypeOf(name);
      Numbers = given[name];
      Shape = given.ContainsKey("shape") ? Longs(given["shape"]) : ShapeOf(Numbers).ToArray();
    }

    static IEnumerable<long> ShapeOf(object nested) {
      for (var level = nested as List; level != null; level = level.Count == 0 ? null : level[0] as List) {
        yield return level.Count;
      }
    }
  }

  static Tensor Make(Dtype dtype, long[] shape, object numbers) {
    var data = floats.Contains(dtype) ? Tensor.From(device, Doubles(numbers)) : Tensor.From(device, Longs(numbers));
    return data.Reshape(shape).Cast(dtype);
  }

  static bool AsksGradient(object given) { return given is Map map && true.Equals(At(map, "grad")); }

  static Tensor Input(object given) {
    if (given == null) return null;
    var wanted = new Described((Map)given);
    var made = Make(wanted.Dtype, wanted.Shape, wanted.Numbers);
    if (AsksGradient(given)) made.RequiresGrad = true;
    return made;
  }

  sealed class Tolerance {
    readonly double relative, absolute;

    internal Tolerance(Map vector) {
      relative = VectorCalls.Number(At(vector, "tolerance") ?? 0.0);
      absolute = VectorCalls.Number(At(vector, "absolute") ?? 0.0);
    }

    internal bool Allows(double actual, double expected, bool seesSigns) {
      if (double.IsNaN(expected)) return double.IsNaN(actual);
      if (double.IsInfinity(expected) || double.IsInfinity(actual)) return actual == expected;
      bool isExact = relative == 0 && absolute == 0;
      if (seesSigns && isExact && expected == 0 && 1 / actual != 1 / expected) return false;
      return Math.Abs(actual - expected) <= absolute + relative * Math.Abs(expected);
    }
  }

  static void CompareFloats(Tensor tensor, object expected, Tolerance tolerance, bool seesSigns) {
    var actual = tensor.ToArray<double>();
    var wanted = Doubles(expected);
    if (tensor.Dtype != Dtype.F64) wanted = wanted.Select(one => (double)(float)one).ToArray();
    bool isRight = actual.Length == wanted.Length &&
                   actual.Zip(wanted, (a, b) => tolerance.Allows(a, b, seesSigns)).All(right => right);
    if (!isRight) throw new Mismatch(Text(actual) + ", expected " + Text(wanted));
  }

  static void CompareTensor(Tensor tensor, Map expected, Tolerance tolerance) {
    var wanted = new Described(expected);
    if (tensor.Dtype != wanted.Dtype || !tensor.Shape.SequenceEqual(wanted.Shape)) {
      throw new Mismatch(tensor.Dtype + " " + Text(tensor.Shape) + ", expected " + wanted.Dtype + Text(wanted.Shape));
    }
    if (floats.Contains(wanted.Dtype)) {
      CompareFloats(tensor, wanted.Numbers, tolerance, true);
    } else if (!tensor.ToArray<long>().SequenceEqual(Longs(wanted.Numbers))) {
      throw new Mismatch(Text(tensor.ToArray<long>()) + ", expected " + Text(Longs(wanted.Numbers)));
    }
  }

  static string OperationOf(Map vector) {
    return (string)(At(vector, "operation") ?? ((string)vector["name"]).Split('/')[0]);
  }

  static Tensor[] Results(string name, Tensor[] inputs, Map attributes) {
    var outputs = calls.Call(name, inputs, attributes);
    if (name != "batch_norm") return outputs;
    return outputs.Concat(inputs.Skip(1).Take(2).Where(running => running != null)).ToArray();
  }

  /// <summary>The result of the library: its outputs, or the stage that failed.</summary>
  sealed class Answer {
    readonly string error = "", status = "";
    readonly Tensor[] inputs = new Tensor[0], outputs = new Tensor[0];

    internal Answer(Map vector) {
      string stage = "operation";
      try {
        inputs = ListAt(vector, "inputs").Select(Input).ToArray();
        outputs = Results(OperationOf(vector), inputs, MapOf(At(vector, "attributes")));
        stage = "backward";
        if (ListAt(vector, "inputs").Any(AsksGradient)) Backward(vector);
      } catch (HalftoneException refused) {
        error = stage;
        status = Ops.StatusName(refused.Status);
      }
    }

    void Backward(Map vector) {
      var first = outputs[0];
      object upstream = At(vector, "upstream") ?? Enumerable.Repeat((object)1.0, (int)first.Numel).ToList();
      first.Backward(Make(first.Dtype, first.Shape, upstream));
    }

    internal void Compare(Map expected, Tolerance tolerance) {
      if (error != (string)(At(expected, "error") ?? "")) throw new Mismatch("error of " + error + ": " + status);
      if (status != (string)(At(expected, "status") ?? status)) throw new Mismatch("another status: " + status);
      if (expected.ContainsKey("outputs")) CompareOutputs(ListAt(expected, "outputs"), tolerance);
      var gradients = ListAt(expected, "gradients");
      for (int i = 0; i < gradients.Count; ++i) {
        var gradient = GradientOf(inputs[i]);
        if ((gradient == null) != (gradients[i] == null)) throw new Mismatch("gradient " + i);
        if (gradient != null) CompareFloats(gradient, gradients[i], tolerance, false);
      }
    }

    void CompareOutputs(List wanted, Tolerance tolerance) {
      if (outputs.Length != wanted.Count) throw new Mismatch(outputs.Length + " outputs");
      for (int i = 0; i < wanted.Count; ++i) CompareTensor(outputs[i], (Map)wanted[i], tolerance);
    }

    static Tensor GradientOf(Tensor input) {
      try {
        return input?.Grad;
      } catch (HalftoneException) {
        return null;
      }
    }
  }

  /// <summary>
  /// If a vector declares a difference, the result must be the documented one and not PyTorch's.
  /// </summary>
  static void Hold(Map vector, Action<Map> compare) {
    if (!vector.ContainsKey("differs")) {
      compare(MapOf(vector["pytorch"]));
      return;
    }
    compare(MapOf(vector["halftone"]));
    try {
      compare(MapOf(vector["pytorch"]));
    } catch (Mismatch) {
      return;
    }
    throw new Mismatch("is documented as a difference, and is none");
  }

  static Tensor One(object dtype, long ndim) {
    return Make(DtypeOf(dtype), Enumerable.Repeat(1L, (int)ndim).ToArray(), new List {1L});
  }

  static string Cell(string kind, Map attributes, object row, object column) {
    try {
      if (kind == "promote_table") return Ops.DtypeName(Ops.DtypePromote(DtypeOf(row), DtypeOf(column)));
      if (kind == "dtype_table_of_one") {
        var settings = MapOf(At(MapOf(attributes["settings"]), (string)row));
        return Ops.DtypeName(Results((string)row, new[] {One(column, 1)}, settings)[0].Dtype);
      }
      var ndims = Longs(attributes["ndims"]);
      var inputs = new List<Tensor> {One(row, ndims[0]), One(column, ndims[1])};
      if ((string)attributes["of"] == "where") inputs.Insert(0, One("bool", 0));
      return Ops.DtypeName(Results((string)attributes["of"], inputs.ToArray(), new Map())[0].Dtype);
    } catch (HalftoneException) {
      return "error";
    }
  }

  static void RunTable(string kind, Map vector) {
    var attributes = MapOf(vector["attributes"]);
    var columns = ListAt(attributes, "dtypes");
    var rows = kind == "dtype_table_of_one" ? ListAt(attributes, "of") : columns;
    var table = rows.SelectMany(row => columns.Select(column => Cell(kind, attributes, row, column))).ToArray();
    Hold(vector, expected => {
      if (!table.SequenceEqual(Flat(expected["table"]).Cast<string>())) throw new Mismatch(Text(table));
    });
  }

  static string RunOperation(Map vector) {
    if (OperationOf(vector).Contains("table")) {
      RunTable(OperationOf(vector), vector);
      return "";
    }
    var answer = new Answer(vector);
    var tolerance = new Tolerance(vector);
    Hold(vector, expected => answer.Compare(expected, tolerance));
    return "";
  }

  static bool IsNan(uint code, Dtype dtype) {
    switch (dtype) {
      case Dtype.F32: return (code & 0x7fffffff) > 0x7f800000;
      case Dtype.F16: return (code & 0x7fff) > 0x7c00;
      case Dtype.BF16: return (code & 0x7fff) > 0x7f80;
      case Dtype.F8E4M3: return (code & 0x7f) == 0x7f;
      default: return (code & 0x7f) > 0x7c;
    }
  }

  static uint Hexadecimal(object text) { return Convert.ToUInt32((string)text, 16); }

  static string RunCast(Map vector) {
    if ((string)vector["to"] == "f8e4m3" && (string)vector["overflow"] != "saturate") {
      return "Cast to f8e4m3 always saturates";
    }
    var from = DtypeOf(vector["from"]);
    var to = DtypeOf(vector["to"]);
    int given = (int)Ops.DtypeSize(from), width = (int)Ops.DtypeSize(to);
    var inputs = ListAt(vector, "input");
    var bytes = inputs.SelectMany(code => BitConverter.GetBytes(Hexadecimal(code)).Take(given)).ToArray();
    var codes = new byte[inputs.Count * width];
    Tensor.FromBytes(device, from, new long[] {inputs.Count}, bytes).Cast(to).Read(to, codes);
    for (int i = 0; i < inputs.Count; ++i) {
      uint code = BitConverter.ToUInt32(codes.Skip(i * width).Take(width).Concat(new byte[4]).ToArray(), 0);
      var expected = (string)ListAt(vector, "expected")[i];
      if (expected == "nan" ? IsNan(code, to) : code == Hexadecimal(expected)) continue;
      throw new Mismatch($"{inputs[i]} became 0x{code:x}, expected {expected}");
    }
    return "";
  }

  /// <summary>One weight matrix, as in a layer without bias, with functions that set its gradients.</summary>
  sealed class Weights {
    internal readonly Module Module;
    readonly long rows, size;

    internal Weights(double[] values, long rows) {
      this.rows = rows;
      size = values.Length;
      Module = Module.Linear(device, size / rows, rows, new LinearOptions {Bias = false});
      Module.Parameter(0).Tensor.Write(values.Select(one => (float)one).ToArray());
    }

    internal double[] Read() { return Module.Parameter(0).Read(Dtype.F32).ToArray<double>(); }

    /// <summary>`gradient` is that of sum(weights * gradient).</summary>
    internal void Backward(GradScaler scaler, double[] gradient) {
      var leaf = Module.Parameter(0).Tensor;
      var loss = (leaf * Tensor.From(device, gradient, rows, size / rows).Cast(leaf.Dtype)).Sum();
      (scaler == null ? loss : scaler.Scale(loss)).Backward();
    }
  }

  static void Set(object options, string name, object value) {
    var property = options.GetType().GetProperty(VectorCalls.Pascal(name));
    property.SetValue(options, VectorCalls.Converted(value, property.PropertyType));
  }

  /// <summary>A preset with the trace's changes must give the trace's settings.</summary>
  static GradScalerOptions Settings(Map vector) {
    bool hasPreset = vector.ContainsKey("preset");
    var options = hasPreset
        ? Ops.GradScalerOptionsPreset((ScalerPreset)Enum.Parse(typeof(ScalerPreset), (string)vector["preset"], true))
        : new GradScalerOptions();
    foreach (var change in MapOf(vector[hasPreset ? "changes" : "settings"])) Set(options, change.Key, change.Value);
    foreach (var row in MapOf(vector["settings"])) {
      var property = typeof(GradScalerOptions).GetProperty(VectorCalls.Pascal(row.Key));
      if (!property.GetValue(options).Equals(VectorCalls.Converted(row.Value, property.PropertyType))) {
        throw new Mismatch(row.Key + " is " + property.GetValue(options));
      }
    }
    return options;
  }

  static string RunScaler(Map vector) {
    int count = ListAt(vector, "runs").Max(run => ListAt((Map)run, "gradients").Count);
    var weights = new Weights(new double[count], 1);
    var scaler = new GradScaler(device, Settings(vector));
    var optimizer = Optimizer.Sgd(weights.Module, new SgdOptions {Lr = 0});
    if (vector.ContainsKey("saved")) {
      var state = scaler.State();
      foreach (var row in MapOf(vector["saved"])) Set(state, row.Key, row.Value);
      scaler.SetState(state);
    }
    foreach (Map run in ListAt(vector, "runs")) {
      var gradients = Doubles(run["gradients"]);
      Array.Resize(ref gradients, count);
      if ((string)run["step"] == "overflow") gradients = gradients.Select(_ => double.PositiveInfinity).ToArray();
      bool error = false;
      for (long i = 0; i < (long)run["count"]; ++i) error = Step(weights, scaler, optimizer, gradients);
      CompareScaler(scaler, optimizer, MapOf(run["expected"]), error);
    }
    return "";
  }

  /// <summary>Returns whether the update reported that the scale is at its minimum.</summary>
  static bool Step(Weights weights, GradScaler scaler, Optimizer optimizer, double[] gradients) {
    try {
      using (Scope.Begin()) {
        optimizer.ZeroGrad();
        weights.Backward(scaler, gradients);
        scaler.Step(optimizer);
        scaler.Update();
      }
      return false;
    } catch (HalftoneException refused) when (refused.Status == Status.State) {
      return true;
    }
  }

  static void CompareScaler(GradScaler scaler, Optimizer optimizer, Map expected, bool error) {
    var state = scaler.State();
    bool isRight = state.Scale == VectorCalls.Number(expected["scale"]) &&
                   state.GrowthTracker == (long)expected["growth_tracker"] &&
                   state.HysteresisLeft == (long)expected["hysteresis_left"] &&
                   optimizer.Outcome().Skipped == (bool)expected["skipped"] && error == (bool)expected["error"];
    if (expected.ContainsKey("ceiling")) isRight &= state.Ceiling == VectorCalls.Number(expected["ceiling"]);
    if (!isRight) throw new Mismatch("scale " + state.Scale + " after a run that gives " + expected["scale"]);
  }

  static object OptimizerOptions(Map vector, Map storage) {
    string kind = VectorCalls.Pascal((string)vector["optimizer"]);
    var type = typeof(Tensor).Assembly.GetType("Halftone." + kind + "Options");
    object options = Activator.CreateInstance(type);
    foreach (var row in MapOf(vector["options"])) Set(options, row.Key, row.Value);
    foreach (var name in new[] {"compute_dtype", "grad_dtype", "moment1_dtype", "moment2_dtype", "min_8bit_size"}) {
      if (type.GetProperty(VectorCalls.Pascal(name)) != null) Set(options, name, storage[name]);
    }
    Set(options, "master_storage", (string)storage["master"] == "split" ? "split" : "full");
    return options;
  }

  static Schedule MakeSchedule(Map given) {
    var after = (string)given["kind"] == "cosine"
        ? Schedule.Cosine((long)given["total_steps"], VectorCalls.Number(given["final_factor"]))
        : Schedule.Step((long)given["step_size"], VectorCalls.Number(given["gamma"]));
    if (!given.ContainsKey("warmup_steps")) return after;
    return Schedule.Warmup((long)given["warmup_steps"], VectorCalls.Number(given["start_factor"]), after);
  }

  static void RunStorage(Map vector, Map storage) {
    var weights = new Weights(Doubles(vector["weights"]), (long)(At(vector, "rows") ?? 1L));
    var create = typeof(Optimizer).GetMethods().First(
        one => one.Name == VectorCalls.Pascal((string)vector["optimizer"]) && one.IsStatic);
    var optimizer = (Optimizer)VectorCalls.Invoke(create, null, weights.Module, OptimizerOptions(vector, storage));
    object scale = At(vector, "initial_scale");
    var scaler = scale == null
        ? null : new GradScaler(device, new GradScalerOptions {InitialScale = VectorCalls.Number(scale)});
    if (At(vector, "schedule") != null) optimizer.SetSchedule(MakeSchedule(MapOf(vector["schedule"])));
    var gradients = ListAt(vector, "gradients");
    for (int step = 0; step < gradients.Count; ++step) {
      optimizer.ZeroGrad();
      weights.Backward(scaler, Doubles(gradients[step]));
      scaler?.Unscale(optimizer);
      if (At(vector, "clip_norm") != null) optimizer.ClipGradNorm(VectorCalls.Number(vector["clip_norm"]));
      if (scaler == null) {
        optimizer.Step();
      } else {
        scaler.Step(optimizer);
        scaler.Update();
      }
      double tolerance = VectorCalls.Number(ListAt(storage, "tolerance")[step]);
      CompareWeights(weights.Read(), optimizer, MapOf(ListAt(vector, "expected")[step]), tolerance);
    }
  }

  static void CompareWeights(double[] actual, Optimizer optimizer, Map expected, double tolerance) {
    var wanted = Doubles(expected["weights"]);
    bool isRight = optimizer.StepCount == (long)expected["steps_taken"] &&
                   actual.Zip(wanted, (a, b) => Math.Abs(a - b) <= tolerance).All(right => right);
    if (!isRight) throw new Mismatch(Text(actual) + ", expected " + Text(wanted));
  }

  static string RunOptimizer(Map vector) {
    foreach (Map storage in ListAt(vector, "storages")) RunStorage(vector, storage);
    return "";
  }

  static bool RunFile(string path, Func<Map, string> run) {
    int passed = 0, skipped = 0, failed = 0;
    foreach (Map vector in ListAt(MapOf(Json.Parse(File.ReadAllText(path))), "vectors")) {
      try {
        using (Scope.Begin()) {
          if (run(vector) == "") ++passed;
          else ++skipped;
        }
      } catch (Exception error) {
        ++failed;
        Console.WriteLine("FAILED " + vector["name"] + ": " + error.GetType().Name + ": " + error.Message);
      }
    }
    Console.WriteLine($"{Path.GetFileName(path)}: {passed} vectors passed, {skipped} skipped, {failed} failed");
    return passed > 0 && failed == 0;
  }

  static int Main(string[] arguments) {
    var topics = new Dictionary<string, Func<Map, string>> {
      {"casts", RunCast}, {"scalers", RunScaler}, {"optimizers", RunOptimizer}, {"operations", RunOperation},
      {"transformers", RunOperation}};
    bool isRight = true;
    foreach (var topic in topics) isRight &= RunFile(Path.Combine(arguments[0], topic.Key + ".json"), topic.Value);
    return isRight ? 0 : 1;
  }
}
