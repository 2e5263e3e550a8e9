using System;
using System.Linq;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>
/// A function of the program as the library calls it: it reads its arguments from the call and gives the result to it.
/// </summary>
delegate void Callback(CallbackCall call);

/// <summary>One running call of a Callback: its arguments in order, and the place of its result.</summary>
sealed class CallbackCall : Unpacker {
  [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
  internal delegate int Run(IntPtr function, IntPtr packed, IntPtr result);

  // Native code keeps the delegates for ever, so the garbage collector must not collect them.
  internal static readonly Run run = Start;
  internal static readonly ReleaseCallback drop = function => GCHandle.FromIntPtr(function).Free();

  private readonly HandleRef result;

  private CallbackCall(IntPtr packed, IntPtr result) : base(packed) {
    this.result = new HandleRef(null, result);
  }

  /// <summary>What the library is given for a function, and frees with `drop`; zero for null.</summary>
  internal static IntPtr Handle(Callback function) {
    return function == null ? IntPtr.Zero : GCHandle.ToIntPtr(GCHandle.Alloc(function));
  }

  // Called by the wrapper, on any thread. No exception may leave it: native code cannot be unwound.
  private static int Start(IntPtr function, IntPtr packed, IntPtr result) {
    bool hasCaller = true, mayTimeOut = false;
    var outside = ScopeFlow.EnterCallback();
    try {
      var call = new CallbackCall(packed, result);
      hasCaller = call.Integer() != 0;
      mayTimeOut = call.Integer() != 0;
      ((Callback)GCHandle.FromIntPtr(function).Target)(call);
      return (int)Status.Ok;
    } catch (Exception thrown) {
      return hasCaller ? Failed(thrown, mayTimeOut) : Reported(thrown);
    } finally {
      ScopeFlow.LeaveCallback(outside);
    }
  }

  private static int Failed(Exception thrown, bool mayTimeOut) {
    int status = Failure.Store(thrown, mayTimeOut);
    string text = thrown.GetType() + ": " + thrown.Message;
    NativePINVOKE.callback_failed(status, Packer.Text(text.Replace('\0', ' ')));
    return status;
  }

  // No caller waits for this call.
  private static int Reported(Exception thrown) {
    Console.Error.WriteLine(thrown);
    return (int)Status.Callback;
  }

  // An object with a reference of its own, so the function may keep it after its scope has ended.
  private static T Kept<T>(T own) where T : NativeObject {
    own.LeaveScope();
    return own;
  }

  /// <summary>Null if it is absent.</summary>
  internal Tensor Tensor() { return Tensor((IntPtr)Integer()); }

  private static Tensor Tensor(IntPtr borrowed) {
    if (borrowed == IntPtr.Zero) return null;
    var own = NativePINVOKE.retain_tensor(new HandleRef(null, borrowed));
    Failure.Check();
    return Kept(Halftone.Tensor.Own(own));
  }

  internal Tensor[] Tensors() { return Integers().Select(handle => Tensor((IntPtr)handle)).ToArray(); }

  internal Module Module() {
    var own = NativePINVOKE.retain_module(new HandleRef(null, (IntPtr)Integer()));
    Failure.Check();
    return Kept(Halftone.Module.Own(own));
  }

  internal Parameter Parameter() {
    var own = NativePINVOKE.retain_parameter(new HandleRef(null, (IntPtr)Integer()));
    Failure.Check();
    return Kept(Halftone.Parameter.Own(own));
  }

  internal bool[] Flags() { return Integers().Select(flag => flag != 0).ToArray(); }

  /// <summary>Null if they are absent.</summary>
  internal byte[] OptionalBytes() {
    bool isAbsent = Integer() != 0;
    var bytes = Bytes();
    return isAbsent ? null : bytes;
  }

  /// <summary>Memory of the library, until the loading ends.</summary>
  internal BatchRows[] Rows(BatchLoading loading) {
    var places = Integers();
    return Enumerable.Range(0, places.Length / 2)
        .Select(index => new BatchRows((IntPtr)places[2 * index], places[2 * index + 1], loading)).ToArray();
  }

  internal void Give(double number) { NativePINVOKE.callback_number(result, number); }

  internal void Give(long integer) { NativePINVOKE.callback_integer(result, integer); }

  internal void Give(byte[] bytes) {
    if (bytes == null) {
      NativePINVOKE.callback_absent(result);
    } else {
      NativePINVOKE.callback_bytes(result, Packer.Bytes(bytes));
    }
  }

  internal void Give(Tensor tensor) { Give(new[] {tensor}); }

  /// <summary>
  /// Null is no tensor at all: the library keeps what it has, or takes zero for a gradient.
  /// </summary>
  internal void Give(Tensor[] tensors) {
    if (tensors == null) return;
    NativePINVOKE.callback_tensors(result, Packer.Handles(tensors));
    GC.KeepAlive(tensors);
    Failure.Check();
  }
}

}
