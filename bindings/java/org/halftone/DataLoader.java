package org.halftone;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * Batches of tensors, of windows over tokens, or of a function of the program. One iteration is one epoch:
 *
 * <pre>{@code
 * for (Tensor[] batch : new DataLoader(new SamplerOptions().batchSize(64), images, labels)) ...
 * }</pre>
 */
public final class DataLoader implements AutoCloseable, Iterable<Tensor[]> {
  private final Sampler sampler;
  private final Batches batches;
  private final int width;

  private DataLoader(SamplerOptions options, int width, Function<Sampler, Batches> source) {
    sampler = new Sampler(options);
    try {
      batches = source.apply(sampler);
    } catch (RuntimeException error) {
      sampler.close();
      throw error;
    }
    this.width = width;
  }

  /**
   * Makes the batches of tensors of equal length.
   *
   * @param options of the sampler; its count becomes that of the tensors' rows
   * @param tensors whose rows belong together
   */
  public DataLoader(SamplerOptions options, Tensor... tensors) {
    this(options.count(rows(tensors)), tensors.length, sampler -> new Batches(sampler, tensors));
  }

  private static long rows(Tensor[] tensors) {
    if (tensors.length == 0) throw new IllegalArgumentException("tensors is empty; a batch needs one at least");
    long[] shape = tensors[0].shape();
    if (shape.length == 0) throw new IllegalArgumentException("tensors[0] has no dimensions; a sample is a row");
    return shape[0];
  }

  /**
   * Makes the batches of tensors of equal length, in a new random order each epoch.
   *
   * @param batchSize the number of samples in a batch; the last one of an epoch may have fewer
   * @param tensors whose rows belong together
   */
  public DataLoader(long batchSize, Tensor... tensors) {
    this(new SamplerOptions().batchSize(batchSize), tensors);
  }

  /**
   * Makes batches of windows over tokens: a tensor of them, and one of the tokens that follow each.
   *
   * @param options of the sampler; its count becomes that of the windows
   * @param tokens of one dimension
   * @param length of a window
   * @param stride from the beginning of a window to that of the next
   * @return the batches
   */
  public static DataLoader windows(SamplerOptions options, Tensor tokens, long length, long stride) {
    options.count(Halftone.windowCount(tokens.numel(), length, stride));
    return new DataLoader(options, 2, sampler -> Batches.windows(sampler, tokens, length, stride));
  }

  /**
   * Makes batches that a function fills.
   *
   * @param device of the tensors
   * @param options of the sampler, with the count of samples
   * @param loader fills the rows
   * @param rows what a sample is in each tensor
   * @return the batches
   */
  public static DataLoader fromFunction(Device device, SamplerOptions options, BatchLoader loader, Row... rows) {
    return new DataLoader(options, rows.length, sampler -> Batches.fromFunction(device, sampler, loader, rows));
  }

  /**
   * Returns what chooses the samples of the batches.
   *
   * @return the sampler, whose position a checkpoint saves
   */
  public Sampler sampler() {
    return sampler;
  }

  /**
   * Counts the batches in an epoch.
   *
   * @return the number
   */
  public long batchesPerEpoch() {
    return sampler.batchesPerEpoch();
  }

  /**
   * Takes the next batch; after the last batch of an epoch the next epoch begins.
   *
   * @return one tensor of each
   */
  public Tensor[] next() {
    batches.advance();
    return LongStream.range(0, width).mapToObj(batches::tensor).toArray(Tensor[]::new);
  }

  /**
   * Returns the batches of one epoch.
   *
   * @return a stream of as many batches as an epoch has, which takes each when it is needed
   */
  public Stream<Tensor[]> stream() {
    return Stream.generate(this::next).limit(batchesPerEpoch());
  }

  /** Iterates over the batches of one epoch. */
  @Override
  public Iterator<Tensor[]> iterator() {
    return new Epoch();
  }

  private final class Epoch implements Iterator<Tensor[]> {
    private long left = batchesPerEpoch();

    @Override
    public boolean hasNext() {
      return left > 0;
    }

    @Override
    public Tensor[] next() {
      if (left <= 0) throw new NoSuchElementException();
      --left;
      return DataLoader.this.next();
    }
  }

  /** Releases the batches; the tensors stay open. */
  @Override
  public void close() {
    batches.close();
    sampler.close();
  }
}
