using System;
using System.Threading;
using Halftone;

/// <summary>Runs the cases of a test program and counts them; a program ends with Finish.</summary>
sealed class Suite {
  const int Runs = 8;

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

  /// <summary>Expects the exception of an object that was disposed of, with the name of its class.</summary>
  public static void IsDisposed(string name, Action call) {
    try {
      call();
    } catch (ObjectDisposedException error) {
      Equal(error.ObjectName, name);
      return;
    }
    throw new Exception("nothing was thrown");
  }

  /// <summary>Expects the exception of an argument that is null.</summary>
  public static void IsMissing(string argument, Action call) {
    try {
      call();
    } catch (ArgumentNullException error) {
      Equal(error.ParamName, argument);
      return;
    }
    throw new Exception("nothing was thrown");
  }

  // Collects until at most so many are alive. One try may be too few: another thread may hold an object for a moment.
  static bool CollectedTo(long handles, int tries) {
    for (int i = 0; i < tries && Ops.LiveHandles() > handles; ++i) {
      GC.Collect();
      GC.WaitForPendingFinalizers();
      Thread.Sleep(20);
    }
    return Ops.LiveHandles() <= handles;
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

  /// <summary>Runs a case, after which no object of the library may be lost.</summary>
  public void Test(string name, Action body) {
    var error = Lost(body);
    if (error == null) {
      ++passed;
      return;
    }
    ++failed;
    Console.WriteLine("FAILED " + name + ": " + error);
  }

  /// <summary>
  /// Returns what the body has thrown, or the error that it loses objects. Mono's collector may keep an object for ever
  /// because of an old value on some stack. Such objects do not become more when the body runs again, while a body that
  /// loses an object loses one in each run.
  /// </summary>
  public static Exception Lost(Action body, int tries = 100) {
    long before = Ops.LiveHandles();
    for (int run = 1; run <= Runs; ++run) {
      var error = Run(body);
      if (error != null || CollectedTo(before + run - 1, tries)) return error;
    }
    return new Exception(Ops.LiveHandles() + " live handles after " + Runs + " runs, before " + before);
  }

  /// <summary>Calls a function, which must return the status.</summary>
  public void Call(string function, Status expected, Action body) {
    Status? found = Status.Ok;
    try {
      body();
    } catch (HalftoneException refused) {
      found = refused.Status;
    } catch (Exception error) {
      found = null;
      Console.WriteLine(error);
    }
    if (found == expected) {
      ++passed;
      return;
    }
    ++failed;
    Console.WriteLine("FAILED " + function + ": " + found);
  }

  public int Finish() {
    Console.WriteLine(passed + " passed, " + failed + " failed");
    return failed == 0 ? 0 : 1;
  }
}
