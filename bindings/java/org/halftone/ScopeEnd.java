package org.halftone;

import java.util.concurrent.atomic.AtomicBoolean;

/** Ends a {@link Scope} with its try-with-resources. */
abstract class ScopeEnd extends NativeObject {
  private final AtomicBoolean isClosed = new AtomicBoolean();
  private final OpenScopes stack = OpenScopes.current();

  ScopeEnd(long handle) {
    super(handle);
    if (stack != null) stack.add(handle);
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

  /**
   * Ends the scope; {@link #close} does so, too.
   *
   * <p>C: htone_scope_end
   */
  public final void end() {
    NativeJNI.Scope_end(handle());
    if (stack != null) stack.remove(handle());
  }

  /**
   * Ends the scope as soon as its thread can.
   *
   * <p>C: htone_scope_end_later
   */
  public final void endLater() {
    NativeJNI.Scope_end_later(handle());
    if (stack != null) stack.remove(handle());
  }

  /**
   * Ends the scope, on the thread that began it; closing it again does nothing. On another thread, or before the scopes
   * inside have ended, this is an exception; then the scope's own thread ends it as soon as it can. A scope of a
   * {@link ScopeStack} ends inside of one of its parts, or with the stack.
   */
  @Override
  public void close() {
    if (isClosed.getAndSet(true) || stack != null && !stack.has(handle())) return;
    try {
      end();
    } catch (HalftoneException refused) {
      if (refused.status() == Status.STATE) endLater();
      throw refused;
    }
  }
}
