package org.halftone;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.function.LongConsumer;

/**
 * Releases something of the library: when its owner is closed, or else when the owner is collected. Works as a Cleaner
 * of Java does, but has one object and no call of native code beside the release, since every tensor has one.
 */
final class Release extends PhantomReference<Object> {
  private static final ReferenceQueue<Object> collected = new ReferenceQueue<>();
  /** Begins the ring of those that have not run, which keeps them reachable. Its lock guards the links of all. */
  private static final Release ring = new Release();

  private final long handle;
  private final LongConsumer release;
  private Release previous = this;
  private Release next = this;

  static {
    Thread thread = new Thread(null, Release::runCollected, "halftone-release", 0, false);
    thread.setDaemon(true);
    thread.setContextClassLoader(null);  // it would keep that of the thread that makes the first object
    thread.start();
  }

  private Release() {
    super(null, null);
    handle = 0;
    release = null;
  }

  /** Neither {@code release} nor what it refers to may refer to the owner, which would stay reachable for ever. */
  Release(Object owner, long handle, LongConsumer release) {
    super(owner, collected);
    this.handle = handle;
    this.release = release;
    synchronized (ring) {
      previous = ring;
      next = ring.next;
      next.previous = this;
      ring.next = this;
    }
  }

  /** Releases it, unless that has happened. */
  void run() {
    synchronized (ring) {
      if (next == this) return;
      next.previous = previous;
      previous.next = next;
      previous = this;
      next = this;
    }
    release.accept(handle);
  }

  private static void runCollected() {
    while (true) {
      try {
        ((Release) collected.remove()).run();
      } catch (Throwable noReasonToEnd) {
        // Such as a lack of memory. The next objects wait.
      }
    }
  }
}
