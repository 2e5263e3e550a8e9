package org.halftone;

/** Marks the constructors that take over a native handle. */
enum Owned {
  HANDLE
}
