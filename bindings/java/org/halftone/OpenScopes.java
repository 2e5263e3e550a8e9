package org.halftone;

import java.util.ArrayDeque;

/**
 * The scopes that are open in a {@link ScopeStack}, by their handles, so that they end with it. This object does not
 * refer to the stack, since the objects of the scopes must not keep a stack that the program has dropped.
 */
final class OpenScopes {
  private static final ThreadLocal<OpenScopes> current = new ThreadLocal<>();

  private final ArrayDeque<Long> handles = new ArrayDeque<>();

  /** Returns those of the stack in use on this thread; null if there is none. */
  static OpenScopes current() {
    return current.get();
  }

  /** Puts other ones in use on this thread; null stands for none. */
  static void use(OpenScopes scopes) {
    if (scopes == null) {
      current.remove();
    } else {
      current.set(scopes);
    }
  }

  synchronized void add(long scope) {
    handles.addLast(scope);
  }

  synchronized void remove(long scope) {
    handles.removeLastOccurrence(scope);
  }

  /** Returns false for a scope that has ended with the stack. */
  synchronized boolean has(long scope) {
    return handles.contains(scope);
  }

  /** Leaves the scopes to the stack, whose release ends them. */
  synchronized void end() {
    for (long scope : handles) NativeJNI.end_scope_with_stack(scope);
    handles.clear();
  }
}
