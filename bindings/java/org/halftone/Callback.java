package org.halftone;

/** A function of the program as the library calls it: it reads its arguments from the call, which takes its result. */
@FunctionalInterface
interface Callback {
  void run(CallbackCall call) throws Exception;
}
