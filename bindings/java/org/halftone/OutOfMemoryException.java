package org.halftone;

/** Native memory ran out; unlike OutOfMemoryError, the JVM's heap did not. */
public final class OutOfMemoryException extends HalftoneException {
  private static final long serialVersionUID = 1L;

  OutOfMemoryException(String message) {
    super(Status.OUT_OF_MEMORY, message);
  }
}
