package org.halftone;

/** A function of the program as the library calls it: it reads its arguments from the call and gives the result to it. */
@FunctionalInterface
interface Callback {
  void run(CallbackCall call) throws Exception;
}
