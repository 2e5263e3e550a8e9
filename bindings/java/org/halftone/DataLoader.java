package org.halftone;

import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * The batches of tensors of equal length, in a new random order each epoch. One iteration is one epoch:
 *
 * <pre>{@code
 * for (Tensor[] batch : new DataLoader(new SamplerOptions().batchSize(64), images, labels)) ...
 * }</pre>
 */
public final class DataLoader implements AutoCloseable, Iterable<Tensor[]> {
  private final Sampler sampler;
  private final Batches batches;
  private final int width;

  /**
   * Makes the batches.
   *
   * @param options of the sampler; its count is that of the tensors' rows.
   * @param tensors whose rows belong together.
   */
  public DataLoader(SamplerOptions options, Tensor... tensors) {
    sampler = new Sampler(options.count(tensors[0].shape()[0]));
    batches = new Batches(sampler, tensors);
    width = tensors.length;
  }

  /** Chooses the samples of the batches; a checkpoint saves its position. */
  public Sampler sampler() {
    return sampler;
  }

  /** The number of batches in an epoch. */
  public long batchesPerEpoch() {
    return sampler.batchesPerEpoch();
  }

  /** The next batch, one tensor of each; after the last batch of an epoch the next epoch begins. */
  public Tensor[] next() {
    batches.advance();
    Tensor[] batch = new Tensor[width];
    for (int i = 0; i < width; ++i) batch[i] = batches.tensor(i);
    return batch;
  }

  @Override
  public Iterator<Tensor[]> iterator() {
    return new Iterator<>() {
      private long left = batchesPerEpoch();

      @Override
      public boolean hasNext() {
        return left > 0;
      }

      @Override
      public Tensor[] next() {
        if (left-- <= 0) throw new NoSuchElementException();
        return DataLoader.this.next();
      }
    };
  }

  /** Releases the batches; the tensors stay open. */
  @Override
  public void close() {
    batches.close();
    sampler.close();
  }
}
