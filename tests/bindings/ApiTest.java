import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;
import org.halftone.AdamwOptions;
import org.halftone.Context;
import org.halftone.Device;
import org.halftone.Dtype;
import org.halftone.GradScaler;
import org.halftone.GradScalerOptions;
import org.halftone.Halftone;
import org.halftone.LinearOptions;
import org.halftone.Block;
import org.halftone.Optimizer;
import org.halftone.OptimizerOptions;
import org.halftone.Parameter;
import org.halftone.Parameters;
import org.halftone.Sampler;
import org.halftone.SamplerOptions;
import org.halftone.ScalerPreset;
import org.halftone.SgdOptions;
import org.halftone.Status;
import org.halftone.Store;
import org.halftone.Tensor;

/** The Java binding of the whole C API: arguments, results and data. Run by CTest. */
public final class ApiTest {
  private static final Device device = new Device("cpu");

  private static Tensor tensor(float... values) {
    return Tensor.of(device, values);
  }

  private static void same(float[] actual, float... expected) {
    Suite.check(Arrays.equals(actual, expected), Arrays.toString(actual));
  }

  private static void optionalParametersComeLast() {
    Tensor x = Tensor.of(device, new float[] {1, 2, 3, 4}, 2, 2);
    same(x.sum().toFloatArray(), 10);
    same(x.sum(0).toFloatArray(), 4, 6);
    Suite.check(Arrays.equals(x.sum(new long[] {0, 1}, true).shape(), new long[] {1, 1}), "keepdim");
    same(Halftone.linear(x, Tensor.of(device, new float[] {1, 1}, 1, 2)).toFloatArray(), 3, 7);
  }

  private static void optionsHaveTheDefaultsOfTheHeader() {
    Suite.equal(new AdamwOptions().weightDecay, 0.01);
    Suite.equal(new org.halftone.AdamOptions().weightDecay, 0.0);
    Block plain = Block.linear(device, 3, 2, new LinearOptions().bias(false).dtype(Dtype.BF16));
    Suite.equal(plain.parameterCount(), 1L);
    Suite.equal(plain.parameter(0).dtype(), Dtype.BF16);
    Suite.equal(Block.linear(device, 3, 2).parameterCount(), 2L);
  }

  private static void aChangedStructureChangesTheSettings() {
    Optimizer optimizer = Optimizer.adamw(Block.linear(device, 2, 2), new AdamwOptions().lr(0.5));
    OptimizerOptions settings = optimizer.group(0);
    Suite.equal(settings.lr, 0.5);
    optimizer.setGroup(0, settings.lr(0.25));
    Suite.equal(optimizer.group(0).lr, 0.25);
  }

  private static void structuresOfResultsHaveNumbersTextAndArrays() {
    GradScalerOptions preset = Halftone.gradScalerOptionsPreset(ScalerPreset.MEGATRON);
    Suite.check(preset.growthInterval == 1000 && preset.fp32Factors, preset.growthInterval);
    Suite.equal(device.memoryStats().byCategory.length, 8);
    try (Context context = Context.defaultContext()) {
      Suite.equal(context.deviceInfo(0).name, "cpu");
    }
  }

  private static void severalResultsAreARecord() {
    var found = Tensor.of(device, new float[] {1, 5, 7, 2}, 2, 2).maxDim(1);
    same(found.values().toFloatArray(), 5, 7);
    Suite.check(Arrays.equals(found.indices().toLongArray(), new long[] {1, 0}), "indices");
    var position = new Sampler(new SamplerOptions().count(10).batchSize(2)).position();
    Suite.check(position.epoch() == 0 && position.batch() == 0, position);
    long batches = new Sampler(new SamplerOptions().count(10).batchSize(4)).batchesPerEpoch();
    Suite.check(batches == 3, batches); // every sample
  }

  private static void arraysOfObjectsGoInAndOut() {
    Tensor x = tensor(1, 2, 3, 4);
    same(Halftone.cat(new Tensor[] {x, tensor(5)}, 0).toFloatArray(), 1, 2, 3, 4, 5);
    Tensor unused = tensor(3);
    x.setRequiresGrad(true);
    unused.setRequiresGrad(true);
    Tensor[] gradients = Halftone.gradients(new Tensor[] {x.mul(x).sum()}, new Tensor[0], new Tensor[] {x, unused},
        new org.halftone.GradientsOptions().allowUnused(true));
    same(gradients[0].toFloatArray(), 2, 4, 6, 8);
    Suite.check(gradients[1] == null, "an unused input has no gradient");
  }

  private static void arraysThatShareALengthMustHaveOne() throws Exception {
    Tensor x = Tensor.of(device, new float[] {1, 2, 3, 4}, 2, 2);
    Suite.raises(Status.INVALID_ARGUMENT, "shifts has 1 entries, expected 2",
        () -> x.roll(new long[] {0, 1}, new long[] {1}));
  }

  private static void textAndBytesOfAnyLengthComeBack() {
    String[] names = new String[40];
    Block[] layers = new Block[40];
    for (int i = 0; i < names.length; ++i) {
      names[i] = "Schicht_\u00e4_\ud83d\ude00_" + i;
      layers[i] = Block.linear(device, 2, 2);
    }
    String summary = Block.namedSequential(names, layers).summary();
    Suite.check(summary.length() > 1000 && summary.contains(names[39]), summary);
    byte[] bytes = new byte[200];
    for (int i = 0; i < bytes.length; ++i) bytes[i] = (byte) i;
    try (Context context = Context.defaultContext(); Store store = Store.memory(context)) {
      store.set("key", bytes);
      Suite.check(Arrays.equals(store.get("key", 1), bytes), "bytes");
    }
  }

  private static void arraysOfEveryTypeAreCopied() {
    same(Tensor.of(device, new double[] {1.5, 2}).toFloatArray(), 1.5f, 2);
    same(Tensor.of(device, new long[] {1, 2}).toFloatArray(), 1, 2);
    same(Tensor.of(device, new int[] {1, 2}).toFloatArray(), 1, 2);
    same(Tensor.of(device, new byte[] {1, -1}).toFloatArray(), 1, 255);
    same(Tensor.of(device, new boolean[] {true, false}).toFloatArray(), 1, 0);
    Tensor x = tensor(1, 2);
    Suite.check(Arrays.equals(x.toDoubleArray(), new double[] {1, 2}), "doubles");
    Suite.check(Arrays.equals(x.toIntArray(), new int[] {1, 2}), "ints");
    Suite.check(Arrays.equals(x.toByteArray(), new byte[] {1, 2}), "bytes");
    x.write(3f, 4f);
    same(x.toFloatArray(), 3, 4);
  }

  private static void anArrayMustFillTheShape() throws Exception {
    Suite.raises(Status.INVALID_ARGUMENT, "data has 8 bytes, expected 12", () -> Tensor.of(device, new float[2], 3));
    Suite.raises(Status.INVALID_ARGUMENT, "", () -> tensor(1).write(1f, 2f));
  }

  private static void aDirectBufferIsShared() {
    FloatBuffer buffer = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()).asFloatBuffer();
    buffer.put(new float[] {1, 2, 3, 4}).position(1);
    try (Tensor x = Tensor.wrap(device, buffer)) {
      buffer.put(1, 9);
      same(x.toFloatArray(), 9, 3, 4);
      x.fill(5);
    }
    Suite.check(buffer.get(3) == 5 && buffer.get(0) == 1, "not shared");
  }

  /** The library reads the program's 16-bit gradients and updates its weights, both in place. */
  private static void buffersOfTheProgramAreTrained() {
    FloatBuffer weights = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder()).asFloatBuffer();
    weights.put(0, 1).put(1, 2);
    ShortBuffer gradients = ByteBuffer.allocateDirect(4).order(ByteOrder.nativeOrder()).asShortBuffer();
    gradients.put(0, (short) 0x4400).put(1, (short) 0xC400);  // 4 and -4 in F16: 1 and -1 before the scale
    Parameter parameter = new Parameter("own", Tensor.wrap(device, weights));
    parameter.setGrad(Tensor.wrap(device, Dtype.F16, gradients, 2));
    Parameters parameters = new Parameters();
    parameters.add(parameter);
    Optimizer optimizer = Optimizer.sgdOver(parameters, new SgdOptions().lr(0.5));
    GradScaler scaler = new GradScaler(device, new GradScalerOptions().initialScale(4));
    scaler.step(optimizer);
    scaler.update();
    Suite.check(weights.get(0) == 0.5f && weights.get(1) == 2.5f, weights.get(0) + " " + weights.get(1));
    gradients.put(1, (short) 0x7C00);
    scaler.step(optimizer);
    scaler.update();
    Suite.check(optimizer.outcome().skipped, "an infinite gradient was used");
    Suite.equal(optimizer.outcome().parameter, "own");
    Suite.equal(scaler.currentScale(), 2.0);
    Suite.check(weights.get(0) == 0.5f && weights.get(1) == 2.5f, "the weights changed");
  }

  private static void theValuesAreShown() {
    Suite.equal(Tensor.of(device, new long[] {1, 2, 3, 4}, 2, 2).toString(), "tensor([[1, 2],\n        [3, 4]], i64)");
  }

  private static void missingArgumentsAreNamed() throws Exception {
    Suite.isMissing("tensors", () -> Halftone.cat(null, 0));
    Suite.isMissing("path", () -> Halftone.safetensorsLoad(device, null));
  }

  public static void main(String[] arguments) throws InterruptedException {
    Suite suite = new Suite();
    suite.test("optionalParametersComeLast", ApiTest::optionalParametersComeLast);
    suite.test("optionsHaveTheDefaultsOfTheHeader", ApiTest::optionsHaveTheDefaultsOfTheHeader);
    suite.test("aChangedStructureChangesTheSettings", ApiTest::aChangedStructureChangesTheSettings);
    suite.test("structuresOfResults", ApiTest::structuresOfResultsHaveNumbersTextAndArrays);
    suite.test("severalResultsAreARecord", ApiTest::severalResultsAreARecord);
    suite.test("arraysOfObjectsGoInAndOut", ApiTest::arraysOfObjectsGoInAndOut);
    suite.test("arraysThatShareALengthMustHaveOne", ApiTest::arraysThatShareALengthMustHaveOne);
    suite.test("textAndBytesOfAnyLengthComeBack", ApiTest::textAndBytesOfAnyLengthComeBack);
    suite.test("arraysOfEveryTypeAreCopied", ApiTest::arraysOfEveryTypeAreCopied);
    suite.test("anArrayMustFillTheShape", ApiTest::anArrayMustFillTheShape);
    suite.test("aDirectBufferIsShared", ApiTest::aDirectBufferIsShared);
    suite.test("buffersOfTheProgramAreTrained", ApiTest::buffersOfTheProgramAreTrained);
    suite.test("theValuesAreShown", ApiTest::theValuesAreShown);
    suite.test("missingArgumentsAreNamed", ApiTest::missingArgumentsAreNamed);
    suite.finish();
  }
}
