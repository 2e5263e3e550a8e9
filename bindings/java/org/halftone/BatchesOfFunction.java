package org.halftone;

import java.lang.ref.Reference;
import java.util.Objects;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Makes {@link Batches} that a function of the program fills. */
abstract class BatchesOfFunction extends NativeObject {
  BatchesOfFunction(long handle, LongConsumer release) {
    super(handle, release);
  }

  /**
   * Makes a source of batches that a function fills.
   *
   * <p>C: htone_batches_create_callback
   *
   * @param device of the tensors.
   * @param sampler chooses the samples; taking a batch moves it.
   * @param loader fills the rows; it must not take a batch of this source.
   * @param rows what a sample is in each tensor.
   * @return the source, before the first batch.
   */
  public static Batches fromFunction(Device device, Sampler sampler, BatchLoader loader, Row... rows) {
    Objects.requireNonNull(loader, "loader");
    long[] types = Stream.of(rows).flatMapToLong(BatchesOfFunction::numbers).toArray();
    Callback load = call -> call.load(loader);
    long made = NativeJNI.batches_of_function(handle(device), handle(sampler), types, load);
    Reference.reachabilityFence(device);
    Reference.reachabilityFence(sampler);
    return Batches.own(made);
  }

  private static LongStream numbers(Row row) {
    LongStream head = LongStream.of(row.dtype().value(), row.shape().length);
    return LongStream.concat(head, LongStream.of(row.shape()));
  }
}
