package org.halftone;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Collects garbage when tensors that are no longer used may hold much native memory, which the JVM does not see.
 *
 * <p>New tensors are counted. After each {@link #STEP} bytes of them the library is asked for the bytes in use. Above
 * the limit a collection runs, and the next limit is twice what is left in use then. A program that closes its tensors,
 * or makes them in scopes, never comes to it.
 */
final class NativeMemory {
  private static final long STEP = 16L << 20;
  private static final long LEAST_LIMIT = 64L << 20;
  private static final int LONGEST_WAIT_MS = 200;

  /** The bytes of new tensors, which the wrapper adds up as it returns them: a call for each would cost more. */
  private static final ByteBuffer counted = NativeJNI.made_bytes().order(ByteOrder.nativeOrder());
  private static long limit = LEAST_LIMIT;

  private NativeMemory() {}

  /** Called for each new tensor. */
  static void made(long tensor) {
    if (counted.getLong(0) < STEP) return;
    counted.putLong(0, 0);
    check(tensor);
  }

  private static synchronized void check(long tensor) {
    long before = NativeJNI.bytes_in_use(tensor);
    if (before < limit) return;
    System.gc();
    limit = Math.max(LEAST_LIMIT, 2 * settled(tensor, before));
  }

  /** Waits until the thread that releases collected objects has no more of them, and returns the bytes in use. */
  private static long settled(long tensor, long before) {
    long last = before;
    for (int waited = 0; waited < LONGEST_WAIT_MS; waited += 2) {
      try {
        Thread.sleep(2);
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        return last;
      }
      long now = NativeJNI.bytes_in_use(tensor);
      if (now == last && now < before || waited > 20 && now >= last) return now;
      last = now;
    }
    return last;
  }
}
