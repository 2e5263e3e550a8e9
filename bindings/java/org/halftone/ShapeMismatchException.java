package org.halftone;

/** The shapes of the arguments do not match. */
public final class ShapeMismatchException extends InvalidArgumentException {
  private static final long serialVersionUID = 1L;

  ShapeMismatchException(String message, String argument) {
    super(Status.SHAPE_MISMATCH, message, argument);
  }
}
