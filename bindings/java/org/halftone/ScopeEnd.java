package org.halftone;

/** Ends a {@link Scope} with its try-with-resources. */
abstract class ScopeEnd extends NativeObject {
  private boolean isClosed;

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

  /** Ends the scope, on the thread that began it; closing it again does nothing. */
  @Override
  public void close() {
    if (isClosed) return;
    isClosed = true;
    end();
  }
}
