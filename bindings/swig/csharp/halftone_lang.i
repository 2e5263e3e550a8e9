/* C#: names are PascalCase. A failure throws the exception that HalftoneException.Of makes. SWIG generates Dispose and
 * the finalizer. Arrays are pinned during a call. */

%insert(runtime) %{
#include "status.h"

/* Managed code registers a function that makes an exception pending; SWIG throws the exception after the call has
 * returned. */
typedef void(SWIGSTDCALL* HalftoneRaise)(int status, const char* message);
static HalftoneRaise raise_managed = nullptr;

extern "C" SWIGEXPORT void SWIGSTDCALL HalftoneRegisterRaise(HalftoneRaise callback) { raise_managed = callback; }
%}

%exception {
  try {
    $action
  } catch (const halftone_bindings::StatusError& error) {
    raise_managed(error.info.status, error.info.message);
    return $null;
  }
}
%feature("except:canthrow");

%pragma(csharp) imclasscode=%{
  internal delegate void Raise(int status, global::System.IntPtr message);

  [global::System.Runtime.InteropServices.DllImport("$dllimport", EntryPoint = "HalftoneRegisterRaise")]
  static extern void RegisterRaise(Raise callback);

  // Native code keeps the delegate for ever, so the garbage collector must not collect it.
  internal static readonly Raise raise =
      Register((status, message) => SWIGPendingException.Set(HalftoneException.Of(status, message)));

  static Raise Register(Raise callback) {
    RegisterRaise(callback);
    return callback;
  }
%}

/* Makes sure that the library is loaded before any class calls the wrapper. */
%pragma(csharp) modulecode=%{
  static Library() { NativeLoader.Load(); }
%}
%typemap(cscode) Device %{
  static Device() { NativeLoader.Load(); }
%}

%rename("%(camelcase)s", %$isfunction) "";

/* SHAPE_MISMATCH becomes ShapeMismatch, with one rule per number of words. Names with digits, such as dtypes, do not
 * match and stay. */
%rename("%(regex:/(.)(.*)/\\1\\L\\2/)s", %$isenumitem, regexmatch$name = "^[A-Z]+$") "";
%rename("%(regex:/(.)(.*)_(.)(.*)/\\1\\L\\2\\E\\3\\L\\4/)s", %$isenumitem, regexmatch$name = "^[A-Z]+_[A-Z]+$") "";
%rename("%(regex:/(.)(.*)_(.)(.*)_(.)(.*)/\\1\\L\\2\\E\\3\\L\\4\\E\\5\\L\\6/)s", %$isenumitem,
        regexmatch$name = "^[A-Z]+_[A-Z]+_[A-Z]+$") "";

/* -DSWIGWORDSIZE64 makes int64_t a long, which SWIG treats as 32 bits here. */
%apply long long { int64_t };

%define %halftone_pinned(CTYPE, CSTYPE, NAME)
%typemap(ctype) CTYPE NAME "void*"
%typemap(imtype,
    inattributes = "[global::System.Runtime.InteropServices.In, global::System.Runtime.InteropServices.Out]")
    CTYPE NAME "CSTYPE[]"
%typemap(cstype) CTYPE NAME "CSTYPE[]"
%typemap(csin) CTYPE NAME "$csinput"
%typemap(in) CTYPE NAME "$1 = static_cast<$1_ltype>($input);"
%enddef
%halftone_pinned(const int64_t*, long, shape)
%halftone_pinned(int64_t*, long, sizes)
%halftone_pinned(float*, float, values)

/* A separate length could be wrong, so only the overloads below are public. */
%csmethodmodifiers Tensor::Tensor "private";
%csmethodmodifiers Tensor::read "private";
%csmethodmodifiers Tensor::shape "private";
%typemap(cscode) Tensor %{
  private const int MaxNdim = 8;

  static Tensor() { NativeLoader.Load(); }

  /// <summary>Creates a tensor without initialising its elements.</summary>
  public Tensor(Device device, Dtype dtype, params long[] shape)
      : this(device, dtype, shape, Present(shape, nameof(shape)).Length) {}

  /// <summary>Reads all elements as floats into the front of an array.</summary>
  public void Read(float[] values) { Read(values, Present(values, nameof(values)).Length); }

  /// <summary>The sizes of the dimensions.</summary>
  public long[] Shape() {
    var sizes = new long[MaxNdim];
    global::System.Array.Resize(ref sizes, Shape(sizes));
    return sizes;
  }

  private static T[] Present<T>(T[] array, string name) {
    return array ?? throw new global::System.ArgumentNullException(name);
  }
%}
