package org.halftone;

/** Element types that do not go together. */
public final class DtypeMismatchException extends InvalidArgumentException {
  private static final long serialVersionUID = 1L;

  DtypeMismatchException(String message) {
    super(Status.DTYPE_MISMATCH, message);
  }
}
