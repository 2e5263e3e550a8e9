using System;
using System.Threading;
using Halftone;

/// <summary>Runs the cases of a test program and counts them; a program ends with Finish.</summary>
sealed class Suite {
  int passed;
  int failed;

  public static void Check(bool condition, object what) {
    if (!condition) throw new Exception(what.ToString());
  }

  public static void Equal<T>(T actual, T expected) {
    if (!Equals(actual, expected)) throw new Exception("expected " + expected + ", got " + actual);
  }

  /// <summary>Expects an exception with the status and the text in its message.</summary>
  public static void Raises(Status status, string text, Action call) {
    try {
      call();
    } catch (HalftoneException error) {
      Equal(error.Status, status);
      Check(error.Message.Contains(text), error.Message);
      return;
    }
    throw new Exception("nothing was thrown");
  }

  public static bool CollectedTo(long handles) {
    for (int i = 0; i < 500 && Ops.LiveHandles() != handles; ++i) {
      GC.Collect();
      GC.WaitForPendingFinalizers();
      Thread.Sleep(20);
    }
    return Ops.LiveHandles() == handles;
  }

  // A case runs on a thread of its own: Mono's collector treats any value on a live stack as a reference.
  static Exception Run(Action body) {
    Exception thrown = null;
    var thread = new Thread(() => {
      try {
        body();
      } catch (Exception error) {
        thrown = error;
      }
    });
    thread.Start();
    thread.Join();
    return thrown;
  }

  /// <summary>Runs a case; no object of the library may be left of it.</summary>
  public void Test(string name, Action body) {
    long before = Ops.LiveHandles();
    var error = Run(body);
    if (error == null && !CollectedTo(before)) {
      error = new Exception(Ops.LiveHandles() + " live handles, before " + before);
    }
    if (error == null) {
      ++passed;
      return;
    }
    ++failed;
    Console.WriteLine("FAILED " + name + ": " + error);
  }

  public int Finish() {
    Console.WriteLine(passed + " passed, " + failed + " failed");
    return failed == 0 ? 0 : 1;
  }
}
