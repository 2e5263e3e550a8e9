package org.halftone;

/**
 * A function with a backward of the program's own:
 *
 * <pre>{@code
 * final class Square extends CustomFunction {
 *   protected Tensor[] forward(Saved saved, Tensor[] inputs) {
 *     saved.keep(inputs[0]);
 *     return new Tensor[] {inputs[0].mul(inputs[0])};
 *   }
 *
 *   protected Tensor[] backward(Saved saved, Tensor[] gradients) {
 *     return new Tensor[] {saved.tensors()[0].mul(2).mul(gradients[0])};
 *   }
 * }
 *
 * Tensor y = new Square().apply(x)[0];
 * }</pre>
 */
public abstract class CustomFunction {
  /** A function without settings. */
  protected CustomFunction() {}

  /** The tensors that forward and backward of one use of a function share. */
  public static final class Saved {
    private Tensor[] tensors;
    private final boolean[] needsGrad;

    private Saved(Tensor[] tensors, boolean[] needsGrad) {
      this.tensors = tensors;
      this.needsGrad = needsGrad;
    }

    /**
     * Keeps tensors, of which backward finds the same values.
     *
     * @param kept the tensors
     */
    public void keep(Tensor... kept) {
      tensors = kept;
    }

    /**
     * Returns the tensors that were kept, in backward.
     *
     * @return the tensors
     */
    public Tensor[] tensors() {
      return tensors;
    }

    /**
     * Returns whether backward must compute the gradient of an input.
     *
     * @param input its position, from 0
     * @return true if backward must
     */
    public boolean needsGrad(int input) {
      return needsGrad[input];
    }
  }

  /**
   * Computes the results. Nothing is recorded meanwhile.
   *
   * @param saved keeps tensors for backward.
   * @param inputs of apply.
   * @return the results.
   * @throws Exception which arrives at the caller of apply
   */
  protected abstract Tensor[] forward(Saved saved, Tensor[] inputs) throws Exception;

  /**
   * Computes the gradients of the inputs.
   *
   * @param saved in forward.
   * @param gradients of the results; null is zero.
   * @return a gradient for each input; null is zero.
   * @throws Exception which arrives at the caller of backward
   */
  protected abstract Tensor[] backward(Saved saved, Tensor[] gradients) throws Exception;

  /**
   * Computes the function and records it; what forward throws arrives here.
   *
   * @param inputs of forward.
   * @return the results of forward, with the function as their origin.
   */
  public final Tensor[] apply(Tensor... inputs) {
    var saved = new Saved(new Tensor[0], new boolean[0]);
    Tensor[] outputs = compute(saved, inputs);
    // The graph keeps the function, so that must not keep tensors, which may be of the graph.
    try (var function = new AutogradFunction(getClass().getSimpleName(), this::runBackward)) {
      return function.record(inputs, outputs, saved.tensors);
    }
  }

  private Tensor[] runBackward(Tensor[] tensors, Tensor[] gradients, boolean[] needsGrad) throws Exception {
    Tensor[] made = backward(new Saved(tensors, needsGrad), gradients);
    if (made.length == needsGrad.length) return made;
    throw new IllegalStateException(getClass().getName() + ".backward returned " + made.length
        + " gradients, expected " + needsGrad.length + ": one for each input");
  }

  /** Above a native frame: a virtual thread must not leave its thread of the system while nothing is recorded there. */
  private Tensor[] compute(Saved saved, Tensor[] inputs) {
    return NativeFrame.call(() -> {
      Scope unrecorded = Halftone.noGrad();
      try {
        return forward(saved, inputs);
      } finally {
        unrecorded.close();
      }
    });
  }
}
