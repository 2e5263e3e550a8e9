package org.halftone;

import java.lang.ref.Cleaner;

/** Releases what proxies own, once: when they are closed, or on a thread of its own after they became unreachable. */
final class Reclaimer {
  private static final Cleaner CLEANER = Cleaner.create();

  private Reclaimer() {}

  /** The release must not reach the proxy, or it would stay reachable for ever. */
  static Cleaner.Cleanable register(Object proxy, Runnable release) {
    return CLEANER.register(proxy, release);
  }
}
