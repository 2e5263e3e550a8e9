package org.halftone;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;

/** Removes a {@link Hook} at the end of its try-with-resources. One that is only collected stays where it was added. */
abstract class HookRemoval extends NativeObject {
  private final AtomicBoolean isClosed = new AtomicBoolean();

  HookRemoval(long handle, LongConsumer release) {
    super(handle, release);
  }

  /** Removes the hook; {@link #close} does so, too. */
  public abstract void remove();

  /** Removes the hook and releases this object; closing it again does nothing. */
  @Override
  public void close() {
    if (isClosed.getAndSet(true)) return;
    remove();
    super.close();
  }
}
