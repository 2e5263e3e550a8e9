using System;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>The function that the library calls when it has released memory.</summary>
[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
delegate void ReleaseCallback(IntPtr user);

/// <summary>Arrays into and out of a tensor. An array is pinned while the library uses it.</summary>
public sealed partial class Tensor {
  // Native code keeps the delegate for ever, so the garbage collector must not collect it.
  private static readonly ReleaseCallback unpin = user => GCHandle.FromIntPtr(user).Free();

  /// <summary>Copies an array to a tensor of its element type; without a shape it has one dimension.</summary>
  public static Tensor From<T>(Device device, T[] values, params long[] shape) where T : struct {
    var dtype = DtypeOf<T>();
    IntPtr made = IntPtr.Zero;
    Pinned(values, nameof(values), (data, size) => made = NativePINVOKE.tensor_from_memory(
        Required(device, nameof(device)), (int)dtype, Sizes(shape, values.LongLength), data, size));
    Failure.Check();
    return Own(made);
  }

  /// <summary>
  /// Makes a tensor over an array, without a copy. The array stays pinned as long as the tensor's memory is in use.
  /// </summary>
  public static Tensor Wrap<T>(Device device, T[] values, params long[] shape) where T : struct {
    return Wrap(device, DtypeOf<T>(), values, shape);
  }

  /// <summary>Makes a tensor over a part of an array, without a copy.</summary>
  public static Tensor Wrap<T>(Device device, ArraySegment<T> values, params long[] shape) where T : struct {
    return Wrap(device, DtypeOf<T>(), values, shape);
  }

  /// <summary>
  /// Makes a tensor over an array whose elements are those of a dtype that C# has no type for, such as the ushort bits
  /// of F16 and BF16. Without a shape it has one dimension.
  /// </summary>
  public static Tensor Wrap<T>(Device device, Dtype dtype, T[] values, params long[] shape) where T : struct {
    return Wrap(device, dtype, new ArraySegment<T>(Packer.Required(values, nameof(values))), shape);
  }

  /// <summary>As the other one, of a part of an array.</summary>
  public static Tensor Wrap<T>(Device device, Dtype dtype, ArraySegment<T> values, params long[] shape)
      where T : struct {
    var array = Packer.Required(values.Array, nameof(values));
    long size = array.Length == 0 ? 0 : Size(array) / array.Length * values.Count;
    var owner = Required(device, nameof(device));
    var sizes = Sizes(shape, values.Count);
    var pin = GCHandle.Alloc(array, GCHandleType.Pinned);
    var made = NativePINVOKE.tensor_over_memory(
        owner, (int)dtype, sizes, Marshal.UnsafeAddrOfPinnedArrayElement(array, values.Offset), size, unpin,
        GCHandle.ToIntPtr(pin));
    if (made == IntPtr.Zero) pin.Free();
    Failure.Check();
    return Own(made);
  }

  /// <summary>Copies all elements, converted to the type of the array, into its front.</summary>
  public void Read<T>(T[] values) where T : struct {
    var dtype = DtypeOf<T>();
    Pinned(values, nameof(values),
           (data, size) => NativePINVOKE.tensor_read_memory(Reference(this), (int)dtype, data, size));
    Failure.Check();
  }

  /// <summary>
  /// Copies all elements, converted to a dtype, as bytes: those of F16, BF16 and 8-bit floats have no type in C#.
  /// </summary>
  public void Read(Dtype dtype, byte[] elements) {
    Pinned(elements, nameof(elements),
           (data, size) => NativePINVOKE.tensor_read_memory(Reference(this), (int)dtype, data, size));
    Failure.Check();
  }

  /// <summary>All elements, converted to a type, in a new array.</summary>
  public T[] ToArray<T>() where T : struct {
    var values = new T[Numel];
    Read(values);
    return values;
  }

  /// <summary>Replaces all elements, in row-major order.</summary>
  public void Write<T>(params T[] values) where T : struct {
    var dtype = DtypeOf<T>();
    Pinned(values, nameof(values),
           (data, size) => NativePINVOKE.tensor_write_memory(Reference(this), (int)dtype, data, size));
    Failure.Check();
  }

  /// <summary>
  /// The address of the elements; valid as long as this object is not disposed of or collected, and its scope is open.
  /// </summary>
  public IntPtr DataAddress {
    get {
      long address = NativePINVOKE.tensor_data_address(Reference(this));
      Failure.Check();
      return (IntPtr)address;
    }
  }

  /// <summary>The values, as the library formats them.</summary>
  public override string ToString() { return Shown(Format); }

  private delegate void Use(IntPtr data, long size);

  private static void Pinned<T>(T[] values, string name, Use use) where T : struct {
    var pin = GCHandle.Alloc(Packer.Required(values, name), GCHandleType.Pinned);
    try {
      use(pin.AddrOfPinnedObject(), Size(values));
    } finally {
      pin.Free();
    }
  }

  private static long Size<T>(T[] values) where T : struct { return Buffer.ByteLength(values); }

  private static long[] Sizes(long[] shape, long count) {
    return Packer.Integers(Packer.Required(shape, nameof(shape)).Length == 0 ? new[] {count} : shape);
  }

  private static Dtype DtypeOf<T>() {
    if (typeof(T) == typeof(float)) return Halftone.Dtype.F32;
    if (typeof(T) == typeof(double)) return Halftone.Dtype.F64;
    if (typeof(T) == typeof(long)) return Halftone.Dtype.I64;
    if (typeof(T) == typeof(int)) return Halftone.Dtype.I32;
    if (typeof(T) == typeof(short)) return Halftone.Dtype.I16;
    if (typeof(T) == typeof(sbyte)) return Halftone.Dtype.I8;
    if (typeof(T) == typeof(byte)) return Halftone.Dtype.U8;
    if (typeof(T) == typeof(bool)) return Halftone.Dtype.Bool;
    throw new ArgumentException("a tensor has no elements of type " + typeof(T));
  }
}

}
