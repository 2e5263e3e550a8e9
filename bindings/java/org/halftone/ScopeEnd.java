package org.halftone;

import java.util.concurrent.atomic.AtomicBoolean;

/** Ends a {@link Scope} with its try-with-resources. */
abstract class ScopeEnd extends NativeObject {
  private final AtomicBoolean isClosed = new AtomicBoolean();

  ScopeEnd(long handle) {
    super(handle);
  }

  /**
   * Begins a scope that releases at its end every object that this thread made inside, but those passed to
   * {@link Halftone#keep}.
   *
   * <pre>{@code
   * try (Scope scope = Scope.begin()) {
   *   model.forward(images).backward();
   * }
   * }</pre>
   */
  public static Scope begin() {
    return Halftone.scope();
  }

  /** Ends the scope; {@link #close} does so, too. */
  public abstract void end();

  /** Ends the scope as soon as its thread can. */
  public abstract void endLater();

  /**
   * Ends the scope, on the thread that began it; closing it again does nothing. On another thread, or before the scopes
   * inside have ended, this is an exception; then the scope's own thread ends it as soon as it can. A virtual thread
   * changes its thread where it waits, so it must not wait in a scope.
   */
  @Override
  public void close() {
    if (isClosed.getAndSet(true)) return;
    try {
      end();
    } catch (HalftoneException refused) {
      if (refused.status() == Status.STATE) endLater();
      throw refused;
    }
  }
}
