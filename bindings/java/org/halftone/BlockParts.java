package org.halftone;

import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import java.util.stream.LongStream;

/** The parts of a {@link Block} as Java's collections. */
abstract class BlockParts extends NativeObject {
  BlockParts(long handle, LongConsumer release) {
    super(handle, release);
  }

  private Block self() {
    return (Block) this;
  }

  /**
   * Returns the parameters of the block and its parts. {@code block.parameters().stream()} is a stream of them.
   *
   * @return the parameters, in the order of {@link Block#parameter}
   */
  public List<Parameter> parameters() {
    return all(self().parameterCount(), self()::parameter);
  }

  /**
   * Returns the tensors of the state that no optimizer updates.
   *
   * @return the buffers of the block and its parts, in the order of {@link Block#buffer}
   */
  public List<Tensor> buffers() {
    return all(self().bufferCount(), self()::buffer);
  }

  /**
   * Returns the blocks that this one consists of, without their own parts.
   *
   * @return the children, in the order of {@link Block#child}
   */
  public List<Block> children() {
    return all(self().childCount(), self()::child);
  }

  /**
   * Sets the block and its parts to training mode.
   *
   * @return this block
   */
  public Block train() {
    self().setTraining(true);
    return self();
  }

  /**
   * Sets the block and its parts to evaluation mode.
   *
   * @return this block
   */
  public Block eval() {
    self().setTraining(false);
    return self();
  }

  /** The table of {@link Block#summary}. */
  @Override
  public String toString() {
    return shown(self()::summary);
  }

  private static <T> List<T> all(long count, LongFunction<T> part) {
    return LongStream.range(0, count).mapToObj(part).toList();
  }
}
