import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.halftone.AtMinimum;
import org.halftone.Device;
import org.halftone.Dtype;
import org.halftone.GradScaler;
import org.halftone.GradScalerOptions;
import org.halftone.Halftone;
import org.halftone.HalftoneException;
import org.halftone.LinearOptions;
import org.halftone.MasterStorage;
import org.halftone.Module;
import org.halftone.Optimizer;
import org.halftone.ScalerPreset;
import org.halftone.ScalerState;
import org.halftone.Schedule;
import org.halftone.Scope;
import org.halftone.SgdOptions;
import org.halftone.Status;
import org.halftone.Tensor;

/** Runs the conformance vectors through the Java binding. Its argument is the folder of the vectors. */
public final class VectorsTest {
  private static final Device device = new Device("cpu");
  private static final VectorCalls calls = new VectorCalls(device);
  private static final Set<Dtype> FLOATS =
      Set.of(Dtype.F64, Dtype.F32, Dtype.F16, Dtype.BF16, Dtype.F8E4M3, Dtype.F8E5M2);

  private static final class Mismatch extends Exception {
    private static final long serialVersionUID = 1L;

    Mismatch(String message) {
      super(message);
    }
  }

  private interface Run {
    /** Returns why a vector is not run, or an empty text. */
    String of(Map<String, Object> vector) throws Exception;
  }

  private interface Compare {
    void with(Map<String, Object> expected) throws Exception;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Object value) {
    return value == null ? Map.of() : (Map<String, Object>) value;
  }

  @SuppressWarnings("unchecked")
  private static List<Object> list(Object value) {
    return value == null ? List.of() : (List<Object>) value;
  }

  private static List<Object> flat(Object nested) {
    if (!(nested instanceof List)) return new ArrayList<>(Arrays.asList(nested));
    List<Object> numbers = new ArrayList<>();
    for (Object entry : list(nested)) numbers.addAll(flat(entry));
    return numbers;
  }

  private static double[] doubles(Object nested) {
    return flat(nested).stream().mapToDouble(VectorCalls::number).toArray();
  }

  private static Dtype dtype(Object name) {
    return Dtype.valueOf(((String) name).toUpperCase(Locale.ROOT));
  }

  private record Described(Dtype dtype, long[] shape, Object numbers) {
    static Described of(Map<String, Object> given) {
      String name = given.keySet().stream().filter(key -> !Set.of("shape", "grad").contains(key)).findFirst().get();
      long[] shape = longs(given.containsKey("shape") ? list(given.get("shape")) : shape(given.get(name)));
      return new Described(VectorsTest.dtype(name), shape, given.get(name));
    }

    private static List<Object> shape(Object nested) {
      List<Object> sizes = new ArrayList<>();
      for (Object level = nested; level instanceof List; level = list(level).get(0)) {
        sizes.add((long) list(level).size());
        if (list(level).isEmpty()) break;
      }
      return sizes;
    }
  }

  private static long[] longs(List<Object> numbers) {
    return numbers.stream().mapToLong(one -> ((Number) one).longValue()).toArray();
  }

  private static Tensor make(Dtype dtype, long[] shape, Object numbers) {
    if (FLOATS.contains(dtype)) return shaped(Tensor.of(device, doubles(numbers)), shape).cast(dtype);
    return shaped(Tensor.of(device, longs(flat(numbers))), shape).cast(dtype);
  }

  private static Tensor shaped(Tensor data, long[] shape) {
    return data.reshape(shape);
  }

  private static Tensor input(Object given) {
    if (given == null) return null;
    var wanted = Described.of(map(given));
    Tensor made = make(wanted.dtype, wanted.shape, wanted.numbers);
    if (Boolean.TRUE.equals(map(given).get("grad"))) made.setRequiresGrad(true);
    return made;
  }

  private record Tolerance(double relative, double absolute) {
    static Tolerance of(Map<String, Object> vector) {
      return new Tolerance(VectorCalls.number(vector.getOrDefault("tolerance", 0.0)),
          VectorCalls.number(vector.getOrDefault("absolute", 0.0)));
    }

    boolean allows(double actual, double expected, boolean seesSigns) {
      if (Double.isNaN(expected)) return Double.isNaN(actual);
      if (Double.isInfinite(expected) || Double.isInfinite(actual)) return actual == expected;
      boolean isExact = relative == 0 && absolute == 0;
      if (seesSigns && isExact && expected == 0 && 1 / actual != 1 / expected) return false;
      return Math.abs(actual - expected) <= absolute + relative * Math.abs(expected);
    }
  }

  private static void compareFloats(Tensor tensor, Object expected, Tolerance tolerance, boolean seesSigns)
      throws Mismatch {
    double[] actual = tensor.readDoubles();
    double[] wanted = doubles(expected);
    boolean isWide = tensor.dtype() == Dtype.F64;
    boolean isRight = actual.length == wanted.length;
    for (int i = 0; isRight && i < wanted.length; ++i) {
      isRight = tolerance.allows(actual[i], isWide ? wanted[i] : (float) wanted[i], seesSigns);
    }
    if (!isRight) throw new Mismatch(Arrays.toString(actual) + ", expected " + Arrays.toString(wanted));
  }

  private static void compareTensor(Tensor tensor, Map<String, Object> expected, Tolerance tolerance) throws Mismatch {
    var wanted = Described.of(expected);
    if (tensor.dtype() != wanted.dtype || !Arrays.equals(tensor.shape(), wanted.shape)) {
      throw new Mismatch(tensor.dtype() + " " + Arrays.toString(tensor.shape()) + ", expected " + wanted);
    }
    if (FLOATS.contains(wanted.dtype)) {
      compareFloats(tensor, wanted.numbers, tolerance, true);
    } else if (!Arrays.equals(tensor.readLongs(), longs(flat(wanted.numbers)))) {
      throw new Mismatch(Arrays.toString(tensor.readLongs()) + ", expected " + wanted.numbers);
    }
  }

  private static String operation(Map<String, Object> vector) {
    return (String) vector.getOrDefault("operation", ((String) vector.get("name")).split("/")[0]);
  }

  private static List<Tensor> results(String name, List<Tensor> inputs, Map<String, Object> attributes)
      throws Exception {
    try {
      List<Tensor> outputs = new ArrayList<>(calls.call(name, inputs, attributes));
      if (name.equals("batch_norm")) {
        for (Tensor running : inputs.subList(1, 3)) {
          if (running != null) outputs.add(running);
        }
      }
      return outputs;
    } catch (InvocationTargetException error) {
      throw VectorCalls.unwrapped(error);
    }
  }

  /** The result of the library: its outputs, or the stage that failed. */
  private static final class Answer {
    private String error = "";
    private String status = "";
    private final List<Tensor> inputs = new ArrayList<>();
    private List<Tensor> outputs = List.of();

    Answer(Map<String, Object> vector) throws Exception {
      String stage = "operation";
      try {
        for (Object given : list(vector.get("inputs"))) inputs.add(input(given));
        outputs = results(operation(vector), inputs, map(vector.get("attributes")));
        stage = "backward";
        if (list(vector.get("inputs")).stream().anyMatch(given -> Boolean.TRUE.equals(map(given).get("grad")))) {
          backward(vector);
        }
      } catch (HalftoneException refused) {
        error = stage;
        status = refused.status().name();
      }
    }

    private void backward(Map<String, Object> vector) {
      Tensor first = outputs.get(0);
      Object upstream = vector.get("upstream");
      if (upstream == null) upstream = new ArrayList<Object>(java.util.Collections.nCopies((int) first.numel(), 1.0));
      first.backward(make(first.dtype(), first.shape(), upstream));
    }

    void compare(Map<String, Object> expected, Tolerance tolerance) throws Mismatch {
      if (!error.equals(expected.getOrDefault("error", ""))) throw new Mismatch("error of " + error + ": " + status);
      if (!status.equals(expected.getOrDefault("status", status))) throw new Mismatch("another status: " + status);
      if (expected.containsKey("outputs")) compareOutputs(list(expected.get("outputs")), tolerance);
      List<Object> gradients = list(expected.get("gradients"));
      for (int i = 0; i < gradients.size(); ++i) {
        Tensor gradient = gradient(inputs.get(i));
        if ((gradient == null) != (gradients.get(i) == null)) throw new Mismatch("gradient " + i);
        if (gradient != null) compareFloats(gradient, gradients.get(i), tolerance, false);
      }
    }

    private void compareOutputs(List<Object> wanted, Tolerance tolerance) throws Mismatch {
      if (outputs.size() != wanted.size()) throw new Mismatch(outputs.size() + " outputs");
      for (int i = 0; i < wanted.size(); ++i) compareTensor(outputs.get(i), map(wanted.get(i)), tolerance);
    }

    private static Tensor gradient(Tensor input) {
      try {
        return input == null ? null : input.grad();
      } catch (HalftoneException none) {
        return null;
      }
    }
  }

  /** If a vector declares a difference, the result must be the documented one and not PyTorch's. */
  private static void hold(Map<String, Object> vector, Compare compare) throws Exception {
    if (!vector.containsKey("differs")) {
      compare.with(map(vector.get("pytorch")));
      return;
    }
    compare.with(map(vector.get("halftone")));
    try {
      compare.with(map(vector.get("pytorch")));
    } catch (Mismatch different) {
      return;
    }
    throw new Mismatch("is documented as a difference, and is none");
  }

  private static Tensor one(Object dtype, int ndim) {
    long[] shape = new long[ndim];
    Arrays.fill(shape, 1);
    return make(dtype(dtype), shape, List.of(1L));
  }

  private static String cell(String kind, Map<String, Object> attributes, Object row, Object column) throws Exception {
    try {
      if (kind.equals("promote_table")) return Halftone.dtypeName(Halftone.dtypePromote(dtype(row), dtype(column)));
      List<Tensor> inputs = new ArrayList<>();
      String operation = kind.equals("dtype_table") ? (String) attributes.get("of") : (String) row;
      if (kind.equals("dtype_table")) {
        if (operation.equals("where")) inputs.add(one("bool", 0));
        long[] ndims = longs(list(attributes.get("ndims")));
        inputs.add(one(row, (int) ndims[0]));
        inputs.add(one(column, (int) ndims[1]));
      } else {
        inputs.add(one(column, 1));
      }
      var settings = map(map(attributes.get("settings")).get(operation));
      return Halftone.dtypeName(results(operation, inputs, settings).get(0).dtype());
    } catch (HalftoneException refused) {
      return "error";
    }
  }

  private static String runTable(String kind, Map<String, Object> vector) throws Exception {
    var attributes = map(vector.get("attributes"));
    List<Object> columns = list(attributes.get("dtypes"));
    List<Object> table = new ArrayList<>();
    for (Object row : kind.equals("dtype_table_of_one") ? list(attributes.get("of")) : columns) {
      List<Object> line = new ArrayList<>();
      for (Object column : columns) line.add(cell(kind, attributes, row, column));
      table.add(line);
    }
    hold(vector, expected -> {
      if (!table.equals(expected.get("table"))) throw new Mismatch(table + ", expected " + expected.get("table"));
    });
    return "";
  }

  private static String runOperation(Map<String, Object> vector) throws Exception {
    if (operation(vector).contains("table")) return runTable(operation(vector), vector);
    var answer = new Answer(vector);
    var tolerance = Tolerance.of(vector);
    hold(vector, expected -> answer.compare(expected, tolerance));
    return "";
  }

  private static boolean isNan(int code, Dtype dtype) {
    return switch (dtype) {
      case F32 -> (code & 0x7fffffff) > 0x7f800000;
      case F16 -> (code & 0x7fff) > 0x7c00;
      case BF16 -> (code & 0x7fff) > 0x7f80;
      case F8E4M3 -> (code & 0x7f) == 0x7f;
      default -> (code & 0x7f) > 0x7c;
    };
  }

  private static ByteBuffer putCode(ByteBuffer bytes, int code, int width) {
    return width == 4 ? bytes.putInt(code) : width == 2 ? bytes.putShort((short) code) : bytes.put((byte) code);
  }

  private static int getCode(ByteBuffer bytes, int index, int width) {
    if (width == 4) return bytes.getInt(4 * index);
    return width == 2 ? bytes.getShort(2 * index) & 0xffff : bytes.get(index) & 0xff;
  }

  private static String runCast(Map<String, Object> vector) throws Mismatch {
    if (vector.get("to").equals("f8e4m3") && !vector.get("overflow").equals("saturate")) {
      return "cast to f8e4m3 always saturates";
    }
    Dtype from = dtype(vector.get("from"));
    Dtype to = dtype(vector.get("to"));
    List<Object> inputs = list(vector.get("input"));
    int given = (int) Halftone.dtypeSize(from);
    int width = (int) Halftone.dtypeSize(to);
    ByteBuffer bytes = ByteBuffer.allocate(inputs.size() * given).order(ByteOrder.nativeOrder());
    for (Object code : inputs) putCode(bytes, Integer.parseUnsignedInt(((String) code).substring(2), 16), given);
    ByteBuffer codes = ByteBuffer.allocateDirect(inputs.size() * width).order(ByteOrder.nativeOrder());
    Tensor.fromBytes(device, from, new long[] {inputs.size()}, bytes.array()).cast(to).read(to, codes);
    for (int i = 0; i < inputs.size(); ++i) {
      int code = getCode(codes, i, width);
      String expected = (String) list(vector.get("expected")).get(i);
      boolean isRight = expected.equals("nan") ? isNan(code, to)
                                               : code == Integer.parseUnsignedInt(expected.substring(2), 16);
      if (!isRight) throw new Mismatch(inputs.get(i) + " became " + Integer.toHexString(code) + ", not " + expected);
    }
    return "";
  }

  /** One weight matrix, as in a layer without bias, with functions that set its gradients. */
  private static final class Weights {
    private final long rows;
    private final long size;
    private final Module module;

    Weights(double[] values, long rows) {
      this.rows = rows;
      size = values.length;
      module = Module.linear(device, size / rows, rows, new LinearOptions().bias(false));
      float[] words = new float[values.length];
      for (int i = 0; i < words.length; ++i) words[i] = (float) values[i];
      module.parameter(0).tensor().write(words);
    }

    double[] read() {
      return module.parameter(0).read(Dtype.F32).readDoubles();
    }

    /** {@code gradient} is that of sum(weights * gradient). */
    void backward(GradScaler scaler, double[] gradient) {
      Tensor leaf = module.parameter(0).tensor();
      Tensor factor = Tensor.of(device, gradient, rows, size / rows).cast(leaf.dtype());
      Tensor loss = leaf.mul(factor).sum();
      (scaler == null ? loss : scaler.scale(loss)).backward();
    }
  }

  private static void set(Object options, String name, Object value) throws Exception {
    var field = options.getClass().getField(VectorCalls.camel(name));
    Class<?> type = field.getType();
    if (type == AtMinimum.class) field.set(options, AtMinimum.valueOf(((String) value).toUpperCase(Locale.ROOT)));
    else if (type == Dtype.class) field.set(options, dtype(value));
    else if (type == double.class) field.set(options, VectorCalls.number(value));
    else if (type == int.class) field.set(options, ((Number) value).intValue());
    else field.set(options, value);
  }

  /** A preset with the trace's changes must give the trace's settings. */
  private static GradScalerOptions settings(Map<String, Object> vector) throws Exception {
    boolean hasPreset = vector.containsKey("preset");
    String preset = ((String) vector.getOrDefault("preset", "")).toUpperCase(Locale.ROOT);
    var options =
        hasPreset ? Halftone.gradScalerOptionsPreset(ScalerPreset.valueOf(preset)) : new GradScalerOptions();
    var wanted = map(vector.get("settings"));
    for (var change : map(hasPreset ? vector.get("changes") : wanted).entrySet()) {
      set(options, change.getKey(), change.getValue());
    }
    for (var row : wanted.entrySet()) {
      Object found = options.getClass().getField(VectorCalls.camel(row.getKey())).get(options);
      String actual = found instanceof Number ? String.valueOf(((Number) found).doubleValue())
                                              : found.toString().toLowerCase(Locale.ROOT);
      Object value = row.getValue();
      String expected = value instanceof Number ? String.valueOf(VectorCalls.number(value)) : value.toString();
      if (!actual.equals(expected)) throw new Mismatch(row.getKey() + " is " + found);
    }
    return options;
  }

  private static String runScaler(Map<String, Object> vector) throws Exception {
    int count = list(vector.get("runs")).stream().mapToInt(run -> list(map(run).get("gradients")).size()).max()
                    .getAsInt();
    var weights = new Weights(new double[count], 1);
    var scaler = new GradScaler(device, settings(vector));
    var optimizer = Optimizer.sgd(weights.module, new SgdOptions().lr(0));
    if (vector.containsKey("saved")) {
      ScalerState state = scaler.state();
      for (var row : map(vector.get("saved")).entrySet()) set(state, row.getKey(), row.getValue());
      scaler.setState(state);
    }
    for (Object each : list(vector.get("runs"))) {
      var run = map(each);
      double[] gradients = Arrays.copyOf(doubles(run.get("gradients")), count);
      if (run.get("step").equals("overflow")) Arrays.fill(gradients, Double.POSITIVE_INFINITY);
      boolean error = false;
      for (long i = 0; i < (Long) run.get("count"); ++i) error = step(weights, scaler, optimizer, gradients);
      compareScaler(scaler, optimizer, map(run.get("expected")), error);
    }
    return "";
  }

  /** Returns whether the update reported that the scale is at its minimum. */
  private static boolean step(Weights weights, GradScaler scaler, Optimizer optimizer, double[] gradients) {
    try (Scope temporaries = Scope.begin()) {
      optimizer.zeroGrad();
      weights.backward(scaler, gradients);
      scaler.step(optimizer);
      scaler.update();
    } catch (HalftoneException refused) {
      if (refused.status() != Status.STATE) throw refused;
      return true;
    }
    return false;
  }

  private static void compareScaler(GradScaler scaler, Optimizer optimizer, Map<String, Object> expected, boolean error)
      throws Mismatch {
    ScalerState state = scaler.state();
    boolean isRight = state.scale == VectorCalls.number(expected.get("scale"))
        && state.growthTracker == (Long) expected.get("growth_tracker")
        && state.hysteresisLeft == (Long) expected.get("hysteresis_left")
        && optimizer.outcome().skipped == (Boolean) expected.get("skipped") && error == (Boolean) expected.get("error");
    if (expected.containsKey("ceiling")) isRight &= state.ceiling == VectorCalls.number(expected.get("ceiling"));
    if (!isRight) throw new Mismatch("scale " + state.scale + ", expected " + expected);
  }

  private static Object optimizerOptions(Map<String, Object> vector, Map<String, Object> storage) throws Exception {
    String kind = (String) vector.get("optimizer");
    String name = kind.substring(0, 1).toUpperCase(Locale.ROOT) + kind.substring(1) + "Options";
    Object options = Class.forName("org.halftone." + name).getConstructor().newInstance();
    for (var row : map(vector.get("options")).entrySet()) set(options, row.getKey(), row.getValue());
    for (String field : List.of("compute_dtype", "grad_dtype", "moment1_dtype", "moment2_dtype", "min_8bit_size")) {
      boolean hasField = Arrays.stream(options.getClass().getFields())
                             .anyMatch(one -> one.getName().equals(VectorCalls.camel(field)));
      if (hasField) set(options, field, storage.get(field));
    }
    boolean isSplit = storage.get("master").equals("split");
    options.getClass().getField("masterStorage").set(options, isSplit ? MasterStorage.SPLIT : MasterStorage.FULL);
    return options;
  }

  private static Schedule schedule(Map<String, Object> given) {
    Schedule after = given.get("kind").equals("cosine")
        ? Schedule.cosine((Long) given.get("total_steps"), VectorCalls.number(given.get("final_factor")))
        : Schedule.step((Long) given.get("step_size"), VectorCalls.number(given.get("gamma")));
    if (!given.containsKey("warmup_steps")) return after;
    return Schedule.warmup((Long) given.get("warmup_steps"), VectorCalls.number(given.get("start_factor")), after);
  }

  private static void runStorage(Map<String, Object> vector, Map<String, Object> storage) throws Exception {
    var weights = new Weights(doubles(vector.get("weights")), (Long) vector.getOrDefault("rows", 1L));
    Object options = optimizerOptions(vector, storage);
    var optimizer = (Optimizer) Optimizer.class.getMethod((String) vector.get("optimizer"), Module.class,
        options.getClass()).invoke(null, weights.module, options);
    Object scale = vector.get("initial_scale");
    GradScaler scaler = null;
    if (scale != null) scaler = new GradScaler(device, new GradScalerOptions().initialScale(VectorCalls.number(scale)));
    if (vector.get("schedule") != null) optimizer.setSchedule(schedule(map(vector.get("schedule"))));
    List<Object> gradients = list(vector.get("gradients"));
    for (int step = 0; step < gradients.size(); ++step) {
      optimizer.zeroGrad();
      weights.backward(scaler, doubles(gradients.get(step)));
      if (scaler != null) scaler.unscale(optimizer);
      if (vector.get("clip_norm") != null) optimizer.clipGradNorm(VectorCalls.number(vector.get("clip_norm")));
      if (scaler == null) {
        optimizer.step();
      } else {
        scaler.step(optimizer);
        scaler.update();
      }
      double tolerance = VectorCalls.number(list(storage.get("tolerance")).get(step));
      compareWeights(weights.read(), optimizer, map(list(vector.get("expected")).get(step)), tolerance);
    }
  }

  private static void compareWeights(double[] actual, Optimizer optimizer, Map<String, Object> expected,
      double tolerance) throws Mismatch {
    double[] wanted = doubles(expected.get("weights"));
    boolean isRight = optimizer.stepCount() == (Long) expected.get("steps_taken");
    for (int i = 0; i < wanted.length; ++i) isRight &= Math.abs(actual[i] - wanted[i]) <= tolerance;
    if (!isRight) throw new Mismatch(Arrays.toString(actual) + ", expected " + expected);
  }

  private static String runOptimizer(Map<String, Object> vector) throws Exception {
    for (Object storage : list(vector.get("storages"))) runStorage(vector, map(storage));
    return "";
  }

  private static boolean runFile(Path path, Run run) throws Exception {
    int passed = 0;
    int skipped = 0;
    int failed = 0;
    for (Object each : list(map(Json.parse(Files.readString(path))).get("vectors"))) {
      try (Scope temporaries = Scope.begin()) {
        if (run.of(map(each)).isEmpty()) ++passed;
        else ++skipped;
      } catch (Exception | AssertionError error) {
        ++failed;
        System.out.println("FAILED " + map(each).get("name") + ": " + error);
      }
    }
    System.out.printf("%s: %d vectors passed, %d skipped, %d failed%n", path.getFileName(), passed, skipped, failed);
    return passed > 0 && failed == 0;
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, Run> topics = new HashMap<>(Map.of("casts", VectorsTest::runCast, "scalers", VectorsTest::runScaler,
        "optimizers", VectorsTest::runOptimizer, "operations", VectorsTest::runOperation, "transformers",
        VectorsTest::runOperation));
    boolean isRight = true;
    for (var topic : topics.entrySet()) {
      isRight &= runFile(Path.of(arguments[0], topic.getKey() + ".json"), topic.getValue());
    }
    System.exit(isRight ? 0 : 1);
  }
}
