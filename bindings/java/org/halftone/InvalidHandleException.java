package org.halftone;

/** The object was closed. */
public final class InvalidHandleException extends HalftoneException {
  private static final long serialVersionUID = 1L;

  InvalidHandleException(String message) {
    super(Status.INVALID_HANDLE, message);
  }
}
