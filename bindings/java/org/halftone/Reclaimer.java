package org.halftone;

import java.lang.ref.Cleaner;

/** Releases the objects of proxies exactly once: when a proxy is closed, or on a separate thread after it became
 * unreachable. */
final class Reclaimer {
  private static final Cleaner CLEANER = Cleaner.create();

  private Reclaimer() {}

  /** `release` must not refer to the proxy, or the proxy would stay reachable for ever. */
  static Cleaner.Cleanable register(Object proxy, Runnable release) {
    return CLEANER.register(proxy, release);
  }
}
