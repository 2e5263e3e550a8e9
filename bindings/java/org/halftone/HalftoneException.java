package org.halftone;

/** A failed call: the status, and the library's message. A class has one superclass, so the specific exceptions derive
 * from this class and not from IllegalArgumentException. Catch InvalidArgumentException instead of
 * IllegalArgumentException. */
public class HalftoneException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Status status;

  HalftoneException(Status status, String message) {
    super(message);
    this.status = status;
  }

  public Status status() {
    return status;
  }

  /** Makes the exception for a status; an unknown status of a newer library becomes INTERNAL. */
  static HalftoneException of(int code, String message) {
    Status status = known(code);
    switch (status) {
      case INVALID_ARGUMENT:
        return new InvalidArgumentException(status, message);
      case INVALID_HANDLE:
        return new InvalidHandleException(message);
      case OUT_OF_MEMORY:
        return new OutOfMemoryException(message);
      case SHAPE_MISMATCH:
        return new ShapeMismatchException(message);
      case DTYPE_MISMATCH:
        return new DtypeMismatchException(message);
      default:
        return new HalftoneException(status, message);
    }
  }

  private static Status known(int code) {
    for (Status status : Status.values()) {
      if (status.value() == code) return status;
    }
    return Status.INTERNAL;
  }
}
