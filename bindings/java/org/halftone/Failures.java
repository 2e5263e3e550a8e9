package org.halftone;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;

/**
 * Exceptions of callbacks, by number, until the failed call of the library arrives. The number is the callback's
 * status, and the native code of the failed call; it is above every other native code. A failing call may run callbacks
 * while it ends, and these may fail, too; so a thread may have several. One that the library has ignored waits here
 * until newer ones push it out.
 */
final class Failures {
  private static final int FIRST = 0x40000000;
  private static final int LAST = 0x7FFFFFFE;
  private static final int MOST_OF_THREAD = 4;
  private static final int MOST = 64;

  private record Failure(long thread, Throwable thrown) {}

  private static final Map<Integer, Failure> pending = new LinkedHashMap<>();
  private static int next = FIRST;

  private Failures() {}

  /** Makes what a failed call throws. Called by the wrapper. */
  static Throwable of(int code, byte[] utf8, byte[] argument, int nativeCode) {
    Throwable own = take(nativeCode);
    if (own != null) return own;
    var made = HalftoneException.of(code, Text.of(utf8), argument.length == 0 ? null : Text.of(argument));
    // The library has put its own error in place of the callback's, such as one that names a rank.
    Throwable cause = takeOldestOfThread();
    if (cause != null) made.initCause(cause);
    return made;
  }

  /** Keeps the exception of a callback; returns the status that the callback returns. */
  static synchronized int store(Throwable thrown, boolean mayTimeOut) {
    if (mayTimeOut && isTimeout(thrown)) return Status.TIMEOUT.value();
    List<Integer> own = numbersOfThread();
    while (own.size() >= MOST_OF_THREAD) pending.remove(own.remove(0));
    while (pending.size() >= MOST) pending.remove(pending.keySet().iterator().next());
    int number = next;
    next = number == LAST ? FIRST : number + 1;
    pending.put(number, new Failure(Thread.currentThread().getId(), thrown));
    return number;
  }

  private static boolean isTimeout(Throwable thrown) {
    return thrown instanceof TimeoutException
        || thrown instanceof HalftoneException && ((HalftoneException) thrown).status() == Status.TIMEOUT;
  }

  private static synchronized Throwable takeOldestOfThread() {
    List<Integer> own = numbersOfThread();
    return own.isEmpty() ? null : take(own.get(0));
  }

  /** The exception of a number. Newer ones of this thread are later failures of the same call. */
  private static synchronized Throwable take(int number) {
    Failure failure = pending.remove(number);
    if (failure == null) return null;
    for (int newer : numbersOfThread()) {
      if (newer > number) pending.remove(newer);
    }
    return failure.thrown;
  }

  private static List<Integer> numbersOfThread() {
    long thread = Thread.currentThread().getId();
    List<Integer> numbers = new ArrayList<>();
    pending.forEach((number, failure) -> {
      if (failure.thread == thread) numbers.add(number);
    });
    return numbers;
  }
}
