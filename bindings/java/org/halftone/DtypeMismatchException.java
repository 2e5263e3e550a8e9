package org.halftone;

/** The element types of the arguments do not match. */
public final class DtypeMismatchException extends InvalidArgumentException {
  private static final long serialVersionUID = 1L;

  DtypeMismatchException(String message, String argument) {
    super(Status.DTYPE_MISMATCH, message, argument);
  }
}
