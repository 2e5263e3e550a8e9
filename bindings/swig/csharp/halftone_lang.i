/* C#: PascalCase; a failure is thrown as what HalftoneException.Of makes of it; Dispose and the finalizer behind it are
 * SWIG's own; arrays are pinned for the call. */

%insert(runtime) %{
#include "status.h"

/* Managed code tells here how an exception is made pending; SWIG throws it when the call has returned. */
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

  // Native code keeps the delegate for ever, so the collector must not take it.
  internal static readonly Raise raise =
      Register((status, message) => SWIGPendingException.Set(HalftoneException.Of(status, message)));

  static Raise Register(Raise callback) {
    RegisterRaise(callback);
    return callback;
  }
%}

/* Before any class calls the wrapper, it makes sure that the library is loaded. */
%pragma(csharp) modulecode=%{
  static Library() { NativeLoader.Load(); }
%}
%typemap(cscode) Device %{
  static Device() { NativeLoader.Load(); }
%}

%rename("%(camelcase)s", %$isfunction) "";

/* SHAPE_MISMATCH becomes ShapeMismatch, a rule for each number of words; dtypes with digits are no words and stay. */
%rename("%(regex:/(.)(.*)/\\1\\L\\2/)s", %$isenumitem, regexmatch$name = "^[A-Z]+$") "";
%rename("%(regex:/(.)(.*)_(.)(.*)/\\1\\L\\2\\E\\3\\L\\4/)s", %$isenumitem, regexmatch$name = "^[A-Z]+_[A-Z]+$") "";
%rename("%(regex:/(.)(.*)_(.)(.*)_(.)(.*)/\\1\\L\\2\\E\\3\\L\\4\\E\\5\\L\\6/)s", %$isenumitem,
        regexmatch$name = "^[A-Z]+_[A-Z]+_[A-Z]+$") "";

/* -DSWIGWORDSIZE64 makes int64_t a long, which SWIG takes for 32 bits here. */
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

/* A length of its own could lie, so only the overloads below are public. */
%csmethodmodifiers Tensor::Tensor "private";
%csmethodmodifiers Tensor::read "private";
%csmethodmodifiers Tensor::shape "private";
%typemap(cscode) Tensor %{
  private const int MaxNdim = 8;

  static Tensor() { NativeLoader.Load(); }

  /// <summary>A tensor of unspecified content.</summary>
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
