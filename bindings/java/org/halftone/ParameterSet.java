package org.halftone;

import java.util.Iterator;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Iterates over {@link Parameters}. */
abstract class ParameterSet extends NativeObject implements Iterable<Parameter> {
  ParameterSet(long handle, LongConsumer release) {
    super(handle, release);
  }

  /**
   * Returns the parameters of the set.
   *
   * @return the parameters, in the order in which they were added
   */
  public Stream<Parameter> stream() {
    Parameters self = (Parameters) this;
    return LongStream.range(0, self.count()).mapToObj(self::at);
  }

  @Override
  public Iterator<Parameter> iterator() {
    return stream().iterator();
  }
}
