import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.halftone.CustomFunction;
import org.halftone.CustomBlock;
import org.halftone.CustomOptions;
import org.halftone.Block;
import org.halftone.Parameter;
import org.halftone.Status;
import org.halftone.Tensor;

/** Modules and functions of Java, and what they throw. Run by CTest. */
public final class CustomTest extends Callbacks {
  private static final class Residual extends CustomBlock {
    private final Block inner;
    private final Parameter scale;

    Residual(long width) {
      inner = child("inner", Block.linear(device, width, width));
      scale = parameter("scale", new Parameter("scale", tensor(2)));
    }

    @Override
    protected Tensor forward(Tensor x) {
      return x.add(scale.tensor().mul(inner.forward(x)));
    }
  }

  private static final class Gate extends CustomBlock {
    Gate() {
      super(new CustomOptions().inputCount(2).outputCount(2));
    }

    @Override
    protected Tensor[] forward(Tensor[] inputs) {
      return new Tensor[] {inputs[1] == null ? inputs[0] : inputs[0].mul(inputs[1]), inputs[0].neg()};
    }
  }

  private static void aModuleHasItsParts() {
    Block model = Block.sequential(new Residual(2).block(), Block.relu());
    String[] names = {"0.inner.weight", "0.inner.bias", "0.scale"};
    List<String> found = new ArrayList<>();
    for (long i = 0; i < model.parameterCount(); ++i) found.add(model.parameterName(i));
    Collections.sort(found);
    Arrays.sort(names);
    Suite.equal(found, Arrays.asList(names));
    model.forward(Tensor.of(device, new float[] {1, 2}, 1, 2)).sum().backward();
    Suite.check(model.parameter(0).grad() != null, "no gradient");
  }

  private static void aModuleRunsAfterItsObjectIsGone() throws InterruptedException {
    Block model = Block.sequential(new Residual(2).block());
    Tensor x = Tensor.of(device, new float[] {1, 2}, 1, 2);
    float[] first = model.forward(x).toFloatArray();
    System.gc();
    Thread.sleep(20);
    same(model.forward(x), first);
  }

  private static void severalInputsAndOutputs() throws Exception {
    Block gate = new Gate().block();
    Tensor x = tensor(1, 2);
    Tensor[] made = gate.forwardN(new Tensor[] {x, tensor(0, 1)}, null, 2);
    same(made[0], 0, 2);
    same(made[1], -1, -2);
    same(gate.forwardN(new Tensor[] {x}, null, 2)[0], 1, 2);
    Suite.raises(Status.INVALID_ARGUMENT, "", () -> gate.forwardN(new Tensor[] {x, x, x}, null, 2));
  }

  private static void wrongResultsAreNamed() throws Exception {
    Block two = Block.custom((self, inputs) -> new Tensor[] {inputs[0], inputs[0]});
    Suite.raises(Status.INVALID_ARGUMENT, "the function returned 2 tensors, expected 1",
        () -> two.forward(tensor(1)));
    Block none = Block.custom((self, inputs) -> null);
    Suite.raises(Status.INVALID_HANDLE, "", () -> none.forward(tensor(1)));
    Block closed = Block.custom((self, inputs) -> {
      Tensor made = inputs[0].neg();
      made.close();
      return new Tensor[] {made};
    });
    Suite.isClosed("Tensor", () -> closed.forward(tensor(1)));
  }

  private static void exceptionsPassEveryLevel() throws Exception {
    Block inner = Block.custom((self, inputs) -> wall());
    Block outer = Block.custom((self, inputs) -> new Tensor[] {inner.forward(inputs[0])});
    arrives(() -> Block.sequential(Block.sequential(outer)).forward(tensor(1)));
    Block fails = Block.custom((self, inputs) -> {
      throw new StackOverflowError();
    });
    try {
      fails.forward(tensor(1));
      throw new AssertionError("nothing was thrown");
    } catch (StackOverflowError expected) {
      same(tensor(1), 1);
    }
  }

  private static final class Square extends CustomFunction {
    @Override
    protected Tensor[] forward(Saved saved, Tensor[] inputs) {
      saved.keep(inputs[0]);
      return new Tensor[] {inputs[0].mul(inputs[0])};
    }

    @Override
    protected Tensor[] backward(Saved saved, Tensor[] gradients) {
      return new Tensor[] {saved.tensors()[0].mul(2).mul(gradients[0])};
    }
  }

  private static final class Swap extends CustomFunction {
    @Override
    protected Tensor[] forward(Saved saved, Tensor[] inputs) {
      return new Tensor[] {inputs[1].add(0), inputs[0].add(0)};
    }

    @Override
    protected Tensor[] backward(Saved saved, Tensor[] gradients) {
      Suite.check(gradients[0] == null && saved.needsGrad(0) && !saved.needsGrad(1), "needs");
      return new Tensor[] {gradients[1].mul(5), null};
    }
  }

  private static final class Failing extends CustomFunction {
    private final boolean inForward;

    Failing(boolean inForward) {
      this.inForward = inForward;
    }

    @Override
    protected Tensor[] forward(Saved saved, Tensor[] inputs) throws IOException {
      return inForward ? wall() : new Tensor[] {inputs[0].mul(1)};
    }

    @Override
    protected Tensor[] backward(Saved saved, Tensor[] gradients) throws IOException {
      return wall();
    }
  }

  private static void functionsHaveTheirOwnBackward() {
    Tensor x = variable(1, 3);
    Tensor y = new Square().apply(x)[0];
    same(y, 1, 9);
    y.sum().backward();
    same(x.grad(), 2, 6);
    Tensor a = variable(1);
    new Swap().apply(a, tensor(2))[1].sum().backward();
    same(a.grad(), 5);
  }

  private static void functionsPassExceptionsOn() throws Exception {
    Tensor x = variable(1);
    arrives(() -> new Failing(true).apply(x));
    Suite.check(x.add(1).requiresGrad(), "recording is off");
    Tensor y = new Failing(false).apply(x)[0].sum();
    arrives(y::backward);
  }

  public static void main(String[] arguments) throws InterruptedException {
    Suite suite = new Suite();
    suite.test("aModuleHasItsParts", CustomTest::aModuleHasItsParts);
    suite.test("aModuleRunsAfterItsObjectIsGone", CustomTest::aModuleRunsAfterItsObjectIsGone);
    suite.test("severalInputsAndOutputs", CustomTest::severalInputsAndOutputs);
    suite.test("wrongResultsAreNamed", CustomTest::wrongResultsAreNamed);
    suite.test("exceptionsPassEveryLevel", CustomTest::exceptionsPassEveryLevel);
    suite.test("functionsHaveTheirOwnBackward", CustomTest::functionsHaveTheirOwnBackward);
    suite.test("functionsPassExceptionsOn", CustomTest::functionsPassExceptionsOn);
    suite.finish();
  }
}
