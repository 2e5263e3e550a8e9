package org.halftone;

/** An argument that the library does not accept. */
public class InvalidArgumentException extends HalftoneException {
  private static final long serialVersionUID = 1L;

  InvalidArgumentException(Status status, String message, String argument) {
    super(status, message, argument);
  }
}
