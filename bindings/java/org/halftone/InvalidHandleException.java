package org.halftone;

/** The scope of the object has ended, or an object is null. */
public final class InvalidHandleException extends HalftoneException {
  private static final long serialVersionUID = 1L;

  InvalidHandleException(String message, String argument) {
    super(Status.INVALID_HANDLE, message, argument);
  }
}
