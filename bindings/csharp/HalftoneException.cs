using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Halftone {

/// <summary>
/// A failed call: the status, and the library's message. A class has one base, so the specific exceptions derive from
/// this class and not from ArgumentException. Catch InvalidArgumentException instead of ArgumentException.
/// </summary>
public class HalftoneException : Exception {
  /// <summary>Why the call has failed.</summary>
  public Status Status { get; }

  /// <summary>The parameter at fault; null if no single argument is.</summary>
  public string Argument { get; internal set; }

  internal HalftoneException(Status status, string message, Exception cause = null) : base(message, cause) {
    Status = status;
  }

  /// <summary>Makes the exception for a status; an unknown status of a newer library keeps its number.</summary>
  internal static HalftoneException Of(int code, IntPtr utf8, IntPtr argument, Exception cause) {
    var made = Of((Status)code, Decode(utf8), cause);
    string name = Decode(argument);
    made.Argument = name.Length == 0 ? null : name;
    return made;
  }

  private static HalftoneException Of(Status status, string message, Exception cause) {
    switch (status) {
      case Status.InvalidArgument: return new InvalidArgumentException(status, message, cause);
      case Status.InvalidHandle: return new InvalidHandleException(message, cause);
      case Status.OutOfMemory: return new OutOfNativeMemoryException(message, cause);
      case Status.ShapeMismatch: return new ShapeMismatchException(message, cause);
      case Status.DtypeMismatch: return new DtypeMismatchException(message, cause);
      default: return new HalftoneException(status, message, cause);
    }
  }

  // Marshal's own decoding depends on the runtime, and the message may quote bytes that are not UTF-8.
  private static string Decode(IntPtr utf8) {
    int length = 0;
    while (Marshal.ReadByte(utf8, length) != 0) ++length;
    var bytes = new byte[length];
    Marshal.Copy(utf8, bytes, 0, length);
    return Encoding.UTF8.GetString(bytes);
  }
}

/// <summary>An argument that the library does not accept.</summary>
public class InvalidArgumentException : HalftoneException {
  internal InvalidArgumentException(Status status, string message, Exception cause) : base(status, message, cause) {}
}

/// <summary>The shapes of the arguments do not match.</summary>
public sealed class ShapeMismatchException : InvalidArgumentException {
  internal ShapeMismatchException(string message, Exception cause) : base(Status.ShapeMismatch, message, cause) {}
}

/// <summary>The element types of the arguments do not match.</summary>
public sealed class DtypeMismatchException : InvalidArgumentException {
  internal DtypeMismatchException(string message, Exception cause) : base(Status.DtypeMismatch, message, cause) {}
}

/// <summary>The scope of the object has ended, or an object is null.</summary>
public sealed class InvalidHandleException : HalftoneException {
  internal InvalidHandleException(string message, Exception cause) : base(Status.InvalidHandle, message, cause) {}
}

/// <summary>Native memory ran out. System.OutOfMemoryException means that managed memory ran out.</summary>
public sealed class OutOfNativeMemoryException : HalftoneException {
  internal OutOfNativeMemoryException(string message, Exception cause) : base(Status.OutOfMemory, message, cause) {}
}

}
