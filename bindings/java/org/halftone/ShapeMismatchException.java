package org.halftone;

/** Shapes that do not go together. */
public final class ShapeMismatchException extends InvalidArgumentException {
  private static final long serialVersionUID = 1L;

  ShapeMismatchException(String message) {
    super(Status.SHAPE_MISMATCH, message);
  }
}
