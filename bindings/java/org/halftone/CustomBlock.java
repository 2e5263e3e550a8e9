package org.halftone;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * A block with a forward of the program's own:
 *
 * <pre>{@code
 * final class Residual extends CustomBlock {
 *   private final Block inner;
 *
 *   Residual(Device device, long width) {
 *     inner = child("inner", Block.linear(device, width, width));
 *   }
 *
 *   protected Tensor forward(Tensor x) {
 *     return x.add(inner.forward(x));
 *   }
 * }
 *
 * Block block = new Residual(device, 64).block();
 * }</pre>
 *
 * <p>The block keeps this object and its parts. So that both can be collected, this object must not keep the block.
 */
public abstract class CustomBlock {
  private final Map<String, Consumer<Block>> parts = new LinkedHashMap<>();
  private final CustomOptions options;

  /** A block of one input and one output. */
  protected CustomBlock() {
    this(new CustomOptions());
  }

  /**
   * A block of so many inputs and outputs; it overrides {@link #forward(Tensor[])}.
   *
   * @param options with the counts
   */
  protected CustomBlock(CustomOptions options) {
    this.options = options;
  }

  /**
   * Makes a block a part of this one.
   *
   * @param name of the part
   * @param child the part
   * @return the part
   */
  protected final Block child(String name, Block child) {
    Objects.requireNonNull(child, name);
    add(name, block -> block.addChild(name, child));
    return child;
  }

  /**
   * Makes a parameter a part of this block, which optimizers then see.
   *
   * @param name of the parameter
   * @param parameter the parameter
   * @return the parameter
   */
  protected final Parameter parameter(String name, Parameter parameter) {
    Objects.requireNonNull(parameter, name);
    add(name, block -> block.addParameter(name, parameter));
    return parameter;
  }

  /**
   * Makes a tensor a part of the block's state, which no optimizer updates.
   *
   * @param name of the tensor
   * @param tensor the tensor
   * @return the tensor
   */
  protected final Tensor buffer(String name, Tensor tensor) {
    Objects.requireNonNull(tensor, name);
    add(name, block -> block.addBuffer(name, tensor));
    return tensor;
  }

  private void add(String name, Consumer<Block> part) {
    if (parts.putIfAbsent(name, part) != null) throw new IllegalArgumentException("there is a part " + name);
  }

  /**
   * Computes the output of a block of one input and one output.
   *
   * @param input of the block.
   * @return the output.
   * @throws Exception which arrives at the caller of the block
   */
  protected Tensor forward(Tensor input) throws Exception {
    throw new UnsupportedOperationException(getClass().getName() + " overrides no forward");
  }

  /**
   * Computes the outputs. The modes of the thread are those of the caller.
   *
   * @param inputs of the block; null is an absent one.
   * @return the outputs.
   * @throws Exception which arrives at the caller of the block
   */
  protected Tensor[] forward(Tensor[] inputs) throws Exception {
    return new Tensor[] {forward(inputs[0])};
  }

  /**
   * Makes a block of this object and its parts.
   *
   * @return the block
   */
  public final Block block() {
    Block made = Block.custom((self, inputs) -> forward(inputs), options);
    try {
      parts.values().forEach(part -> part.accept(made));
    } catch (RuntimeException error) {
      made.close();
      throw error;
    }
    return made;
  }
}
