import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import java.util.stream.*;
import org.halftone.*;

/**
 * Lines that a person types in the first hour, who knows Java and a library such as DJL: they are counted, and all of
 * them must work. The imports are a part of it: no class has the name of one of Java's that programs import. Run by CTest.
 */
public final class FirstHour {
  private static final Device device = new Device("cpu");
  private static int typed;
  private static int worked;

  private interface Line {
    boolean holds() throws Exception;
  }

  private static void line(String text, Line line) {
    ++typed;
    try {
      if (line.holds()) {
        ++worked;
        return;
      }
      System.out.println("FAILED " + text + ": it has another result");
    } catch (Exception | Error error) {
      System.out.println("FAILED " + text + ": " + error);
    }
  }

  private static boolean has(Tensor x, double... expected) {
    return Arrays.equals(x.toDoubleArray(), expected);
  }

  private static <T extends Throwable> T thrown(Class<T> kind, Line line) throws Exception {
    try {
      line.holds();
    } catch (Throwable error) {
      if (kind.isInstance(error)) return kind.cast(error);
      throw error;
    }
    throw new AssertionError("nothing was thrown");
  }

  private static void tensorsAreMade() {
    line("Tensor.zeros(2, 3)", () -> Arrays.equals(Tensor.zeros(2, 3).shape(), new long[] {2, 3}));
    line("Tensor.ones(2)", () -> has(Tensor.ones(2), 1, 1));
    line("Tensor.full(7, 2)", () -> has(Tensor.full(7, 2), 7, 7));
    line("Tensor.arange(3)", () -> has(Tensor.arange(3), 0, 1, 2));
    line("Tensor.eye(2)", () -> has(Tensor.eye(2), 1, 0, 0, 1));
    line("Tensor.randn(2, 3)", () -> Tensor.randn(2, 3).isFinite().all().item() == 1);
    line("Tensor.rand(100)", () -> Tensor.rand(100).amax().item() < 1);
    line("Tensor.of(1, 2)", () -> Tensor.of(1, 2).dtype() == Dtype.I32);
    line("Tensor.of(1f, 2)", () -> Tensor.of(1f, 2).dtype() == Dtype.F32);
    line("Tensor.of(1L)", () -> Tensor.of(1L).dtype() == Dtype.I64);
    line("Tensor.of(true, false)", () -> has(Tensor.of(true, false), 1, 0));
    line("Tensor.of(array)", () -> has(Tensor.of(new double[] {1, 2}), 1, 2));
    line("Tensor.of(array, 2, 2)", () -> Tensor.of(new float[4], 2, 2).shape().length == 2);
    line("Tensor.of(rows)", () -> has(Tensor.of(new float[][] {{1, 2}, {3, 4}}), 1, 2, 3, 4));
    line("Tensor.of(rows of two lengths)", () -> thrown(IllegalArgumentException.class,
        () -> Tensor.of(new float[][] {{1, 2}, {3}}) == null).getMessage().contains("row 1 has 1"));
    line("Tensor.of(floatBuffer)", () -> has(Tensor.of(FloatBuffer.wrap(new float[] {1, 2})), 1, 2));
    line("new Tensor(device, ...)", () -> new Tensor(device, Dtype.BF16, 2).dtype() == Dtype.BF16);
  }

  private static void valuesComeOut() {
    Tensor x = Tensor.of(new float[] {1, 2, 3, 4}, 2, 2);
    line("x.toFloatArray()", () -> Arrays.equals(x.toFloatArray(), new float[] {1, 2, 3, 4}));
    line("x.toLongArray()", () -> LongStream.of(x.toLongArray()).sum() == 10);
    line("x.sum().item()", () -> x.sum().item() == 10);
    line("x.toString()", () -> x.toString().startsWith("tensor([[1"));
    line("x.shape()", () -> x.shape()[1] == 2 && x.numel() == 4);
    line("x.get(1)", () -> has(x.get(1), 3, 4));
    line("x.get(1, -1).item()", () -> x.get(1, -1).item() == 4);
    line("x.get(2)", () -> thrown(IndexOutOfBoundsException.class, () -> x.get(2) == null).getMessage()
        .equals("index 2 of dimension 0, whose size is 2"));
    line("x.read(floatBuffer)", () -> {
      FloatBuffer buffer = FloatBuffer.allocate(4);
      x.read(buffer);
      return buffer.get(3) == 4;
    });
    line("x.write(floatBuffer)", () -> {
      Tensor written = Tensor.zeros(2);
      written.write(FloatBuffer.wrap(new float[] {5, 6}));
      return has(written, 5, 6);
    });
    line("x.asByteBuffer()", () -> {
      Tensor shared = Tensor.of(1f, 2f);
      FloatBuffer elements = shared.asByteBuffer().asFloatBuffer();
      elements.put(0, 9);
      boolean isShared = has(shared, 9, 2);
      shared.close();
      for (int i = 0; i < 100; ++i) Tensor.of(3f, 3f);
      return isShared && elements.get(0) == 9;
    });
  }

  private static void arithmetic() {
    Tensor x = Tensor.of(1f, 2f);
    line("x.add(1)", () -> has(x.add(1), 2, 3));
    line("x.mul(2.0)", () -> has(x.mul(2.0), 2, 4));
    line("x.sub(1).div(2)", () -> has(x.sub(1).div(2), 0, 0.5));
    line("x.pow(2)", () -> has(x.pow(2), 1, 4));
    line("x.gt(1)", () -> has(x.gt(1), 0, 1));
    line("x.add(x).neg()", () -> has(x.add(x).neg(), -2, -4));
    line("x.mean(), x.max over a dimension", () -> x.mean().item() == 1.5 && x.amax().item() == 2);
    line("x.matmul(y)", () -> has(Tensor.eye(2).matmul(Tensor.of(new float[][] {{1}, {2}})), 1, 2));
    line("x.maxDim(1).values()", () -> has(Tensor.of(new float[][] {{1, 5}}).maxDim(1).values(), 5));
    line("x.cast(Dtype.F16)", () -> x.cast(Dtype.F16).dtype() == Dtype.F16);
    line("Halftone.cat", () -> has(Halftone.cat(new Tensor[] {x, x}, 0), 1, 2, 1, 2));
    line("an integer tensor stays one", () -> Tensor.of(1, 2).add(1).dtype() == Dtype.I32);
  }

  private static Block network() {
    return Block.sequential(Block.linear(device, 2, 8), Block.relu(), Block.linear(device, 8, 2));
  }

  private static void blocks() {
    Block model = network();
    line("Block model = Block.sequential(...)", () -> model.parameterCount() == 4);
    line("System.out.println(model)", () -> model.toString().equals(model.summary()));
    line("model.parameters().stream()", () -> model.parameters().stream().map(Parameter::name)
        .collect(Collectors.joining(" ")).equals("weight bias weight bias"));
    line("for (Parameter p : new Parameters(...))", () -> {
      long count = 0;
      for (Parameter parameter : Parameters.fromBlock(model)) count += parameter.tensor().numel();
      return count == 2 * 8 + 8 + 8 * 2 + 2;
    });
    line("model.children()", () -> model.children().get(1).kind().equals("relu"));
    line("model.eval(), model.train()", () -> !model.eval().isTraining() && model.train().isTraining());
    line("a hook in try-with-resources", () -> {
      int[] calls = new int[1];
      try (Hook hook = model.addForwardHook((self, inputs, outputs) -> {
        ++calls[0];
        return null;
      })) {
        model.forward(Tensor.zeros(1, 2));
      }
      model.forward(Tensor.zeros(1, 2));
      return calls[0] == 1;
    });
    line("a block of one's own", () -> {
      CustomBlock twice = new CustomBlock() {
        @Override
        protected Tensor forward(Tensor x) {
          return x.mul(2);
        }
      };
      return has(twice.block().forward(Tensor.of(1f)), 2);
    });
    line("model.stateDict(), loadStateDict", () -> {
      Block other = network();
      other.loadStateDict(model.stateDict());
      return other.parameter(0).tensor().sub(model.parameter(0).tensor()).absMax().item() == 0;
    });
    line("Function and Block beside java.util.function and java.lang", () -> {
      Function<Tensor, Tensor> forward = model::forward;
      return forward.apply(Tensor.zeros(3, 2)).shape()[0] == 3;
    });
  }

  /** The dot of two numbers above 0. */
  private static DataLoader loader() {
    Tensor x = Tensor.randn(256, 2);
    Tensor labels = x.sum(1).gt(0).cast(Dtype.I64);
    return new DataLoader(new SamplerOptions().batchSize(32).seed(1), x, labels);
  }

  private static double trained(Block model, DataLoader loader) {
    Optimizer optimizer = Optimizer.adamw(model, new AdamwOptions().lr(0.05).computeDtype(Dtype.BF16));
    double last = 0;
    for (int epoch = 0; epoch < 10; ++epoch) {
      for (Tensor[] batch : loader) {
        try (Scope step = Scope.begin()) {
          optimizer.zeroGrad();
          Tensor loss;
          try (Scope cast = Halftone.autocast(Dtype.BF16)) {
            loss = model.forward(batch[0]).crossEntropy(batch[1]);
          }
          loss.backward();
          optimizer.step();
          last = loss.item();
        }
      }
    }
    return last;
  }

  private static void training() {
    line("a training loop in BF16", () -> trained(network(), loader()) < 0.2);
    line("loader.stream().count()", () -> loader().stream().count() == 8);
    line("new DataLoader(100, x)", () -> new DataLoader(100, Tensor.zeros(256, 2)).batchesPerEpoch() == 3);
    line("DataLoader.windows", () -> {
      var windows = DataLoader.windows(new SamplerOptions().batchSize(2).shuffle(false), Tensor.arange(9), 4, 4);
      Tensor[] first = windows.iterator().next();
      return has(first[0].get(0), 0, 1, 2, 3) && has(first[1].get(0), 1, 2, 3, 4);
    });
    line("DataLoader.fromFunction", () -> {
      var made = DataLoader.fromFunction(device, new SamplerOptions().batchSize(2).count(4).shuffle(false),
          (indices, rows) -> rows[0].putFloat(indices[0]).putFloat(indices[1]), new Row(Dtype.F32));
      return made.stream().mapToDouble(batch -> batch[0].sum().item()).sum() == 0 + 1 + 2 + 3;
    });
    line("try (Scope s = Halftone.noGrad())", () -> {
      Tensor x = Tensor.of(1f);
      x.setRequiresGrad(true);
      try (Scope unrecorded = Halftone.noGrad()) {
        return !x.mul(2).requiresGrad();
      }
    });
    line("inference in a thread pool", () -> {
      Block model = network().eval();
      ExecutorService pool = Executors.newFixedThreadPool(3);
      try {
        List<Callable<Long>> tasks = Collections.nCopies(20, () -> {
          try (Scope scope = Scope.begin(); Scope unrecorded = Halftone.noGrad()) {
            return model.forward(Tensor.randn(4, 2)).shape()[0];
          }
        });
        long sum = 0;
        for (Future<Long> future : pool.invokeAll(tasks)) sum += future.get();
        return sum == 80;
      } finally {
        pool.shutdown();
      }
    });
    line("a task that goes on in a thread pool", () -> {
      Block model = network();
      ExecutorService pool = Executors.newFixedThreadPool(1);
      try (ScopeStack task = new ScopeStack()) {
        task.run(Halftone::noGrad);
        return !pool.submit(() -> task.call(() -> model.forward(Tensor.randn(4, 2)))).get().requiresGrad();
      } finally {
        pool.shutdown();
      }
    });
    line("a file of weights", () -> {
      Path file = Files.createTempFile("halftone", ".safetensors");
      Block model = network();
      try (Context context = Context.defaultContext()) {
        Halftone.safetensorsSave(context, file.toString(), model.stateDict());
      }
      Block other = network();
      other.loadFile(file.toString());
      Files.delete(file);
      return other.parameter(0).tensor().sub(model.parameter(0).tensor()).absMax().item() == 0;
    });
  }

  private static void mistakes() {
    line("the argument of an exception", () -> thrown(HalftoneException.class,
        () -> Tensor.zeros(2, 3).matmul(Tensor.zeros(2, 3)) == null).getMessage().contains("b.shape[0]=2"));
    line("error.argument()", () -> thrown(InvalidArgumentException.class,
        () -> Block.linear(device, 0, 3) == null).argument().equals("inFeatures"));
    line("null", () -> thrown(NullPointerException.class, () -> Tensor.ones(1).add(null) == null)
        .getMessage().equals("b"));
    line("a closed tensor", () -> {
      Tensor x = Tensor.ones(1);
      x.close();
      return thrown(IllegalStateException.class, () -> x.add(1) == null).getMessage().equals("Tensor is closed")
          && x.toString().equals("Tensor[closed]");
    });
    line("a tensor whose scope has ended", () -> {
      Tensor x;
      try (Scope scope = Scope.begin()) {
        x = Tensor.ones(1);
      }
      return x.toString().contains("htone_tensor_format");
    });
    line("options are equal and shown", () -> new AdamwOptions().lr(0.5).equals(new AdamwOptions().lr(0.5))
        && !new AdamwOptions().equals(new AdamwOptions().lr(0.5))
        && new LinearOptions().toString().startsWith("LinearOptions[bias=true"));
    line("a set of options", () -> Set.of(new LinearOptions()).contains(new LinearOptions()));
  }

  public static void main(String[] arguments) {
    tensorsAreMade();
    valuesComeOut();
    arithmetic();
    blocks();
    training();
    mistakes();
    System.out.println(worked + " of " + typed + " lines work, " + (typed - worked) + " failed");
    System.exit(worked == typed ? 0 : 1);
  }
}
