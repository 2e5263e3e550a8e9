package org.halftone;

import java.nio.ByteBuffer;

/** Fills the memory of a batch; {@link Batches#fromFunction} calls it. */
@FunctionalInterface
public interface BatchLoader {
  /**
   * Fills a batch.
   *
   * @param indices of the samples that the batch consists of.
   * @param rows the memory of each tensor, [indices.length, row shape], in the order of the machine. It is the loader's
   *     own, filled with zeros, and is copied to the batch after the call.
   * @throws Exception which arrives where the batch is taken
   */
  void load(long[] indices, ByteBuffer[] rows) throws Exception;
}
