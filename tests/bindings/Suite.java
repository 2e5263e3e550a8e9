import org.halftone.Halftone;
import org.halftone.HalftoneException;
import org.halftone.Status;

/** Runs the cases of a test program and counts them; a program ends with {@link #finish}. */
final class Suite {
  interface Case {
    void run() throws Exception;
  }

  private int passed;
  private int failed;

  static void check(boolean condition, Object what) {
    if (!condition) throw new AssertionError(String.valueOf(what));
  }

  static void equal(Object actual, Object expected) {
    if (!expected.equals(actual)) throw new AssertionError("expected " + expected + ", got " + actual);
  }

  /** Expects an exception with the status and the text in its message. */
  static void raises(Status status, String text, Case call) throws Exception {
    try {
      call.run();
    } catch (HalftoneException error) {
      equal(error.status(), status);
      check(error.getMessage().contains(text), error.getMessage());
      return;
    }
    throw new AssertionError("nothing was thrown");
  }

  /** Expects the exception of an object that was closed. */
  static void isClosed(String name, Case call) throws Exception {
    try {
      call.run();
    } catch (IllegalStateException error) {
      equal(error.getMessage(), name + " is closed");
      return;
    }
    throw new AssertionError("nothing was thrown");
  }

  /** Expects the exception of an argument that is null. */
  static void isMissing(String argument, Case call) throws Exception {
    try {
      call.run();
    } catch (NullPointerException error) {
      equal(error.getMessage(), argument);
      return;
    }
    throw new AssertionError("nothing was thrown");
  }

  /**
   * Waits until dropped objects are released, which happens on another thread, some time after a collection. Gives up
   * when 500 collections one after the other have released nothing.
   */
  static boolean collectedTo(long handles) throws InterruptedException {
    long last = Halftone.liveHandles();
    for (int idle = 0; idle < 500 && last != handles; ++idle) {
      System.gc();
      Thread.sleep(20);
      long now = Halftone.liveHandles();
      if (now != last) idle = 0;
      last = now;
    }
    return last == handles;
  }

  /** Runs a case; no object of the library may be left of it. */
  void test(String name, Case body) throws InterruptedException {
    long before = Halftone.liveHandles();
    try {
      body.run();
      check(collectedTo(before), Halftone.liveHandles() + " live handles, before " + before);
      ++passed;
    } catch (Exception | AssertionError error) {
      ++failed;
      System.out.println("FAILED " + name + ": " + error);
    }
  }

  /** Calls a function, which must return the status. */
  void call(String function, Status expected, Case body) {
    Status found = Status.OK;
    try {
      body.run();
    } catch (HalftoneException refused) {
      found = refused.status();
    } catch (Exception error) {
      found = null;
      System.out.println(error);
    }
    if (found == expected) {
      ++passed;
      return;
    }
    ++failed;
    System.out.println("FAILED " + function + ": " + found);
  }

  void finish() {
    System.out.println(passed + " passed, " + failed + " failed");
    System.exit(failed == 0 ? 0 : 1);
  }
}
