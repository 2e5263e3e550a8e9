package org.halftone;

/**
 * A failed call: the status, and the library's message. A class has one superclass, so the specific exceptions derive
 * from this class and not from IllegalArgumentException. Catch InvalidArgumentException instead of
 * IllegalArgumentException.
 */
public class HalftoneException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Status status;
  private final String argument;

  HalftoneException(Status status, String message, String argument) {
    super(message);
    this.status = status;
    this.argument = argument;
  }

  /**
   * Returns why the call has failed.
   *
   * @return the status
   */
  public Status status() {
    return status;
  }

  /**
   * Returns the argument at fault.
   *
   * @return the parameter's name; null if no single argument is at fault
   */
  public String argument() {
    return argument;
  }

  /** Makes the exception for a status; an unknown status of a newer library becomes INTERNAL. */
  static HalftoneException of(int code, String message, String argument) {
    Status status = known(code);
    switch (status) {
      case INVALID_ARGUMENT:
        return new InvalidArgumentException(status, message, argument);
      case INVALID_HANDLE:
        return new InvalidHandleException(message, argument);
      case OUT_OF_MEMORY:
        return new OutOfMemoryException(message, argument);
      case SHAPE_MISMATCH:
        return new ShapeMismatchException(message, argument);
      case DTYPE_MISMATCH:
        return new DtypeMismatchException(message, argument);
      default:
        return new HalftoneException(status, message, argument);
    }
  }

  private static Status known(int code) {
    for (Status status : Status.values()) {
      if (status.value() == code) return status;
    }
    return Status.INTERNAL;
  }
}
