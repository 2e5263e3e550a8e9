package org.halftone;

/** Native memory ran out. OutOfMemoryError means that the JVM's heap ran out. */
public final class OutOfMemoryException extends HalftoneException {
  private static final long serialVersionUID = 1L;

  OutOfMemoryException(String message, String argument) {
    super(Status.OUT_OF_MEMORY, message, argument);
  }
}
