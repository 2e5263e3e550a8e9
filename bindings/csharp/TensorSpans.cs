using System;
using System.Buffers;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>
/// Spans into and out of a tensor: parts of arrays, memory of the stack, native memory. No method here reads an element
/// of a ReadOnlySpan by its index: Mono's compiler and .NET do not agree on that member.
/// </summary>
public sealed unsafe partial class Tensor {
  // The dtypes whose elements have a type in C#.
  private static readonly Dtype[] typed = {
    Halftone.Dtype.F64, Halftone.Dtype.F32, Halftone.Dtype.I64, Halftone.Dtype.I32, Halftone.Dtype.I16,
    Halftone.Dtype.I8, Halftone.Dtype.U8, Halftone.Dtype.Bool};

  /// <summary>Copies elements to a tensor of their type; without a shape it has one dimension.</summary>
  public static Tensor From<T>(Device device, ReadOnlySpan<T> values, params long[] shape) where T : struct {
    var dtype = DtypeOf<T>();
    var bytes = MemoryMarshal.AsBytes(values);
    var owner = Required(device, nameof(device));
    IntPtr made;
    fixed (byte* data = &MemoryMarshal.GetReference(bytes)) {
      made = NativePINVOKE.tensor_from_memory(owner, (int)dtype, Sizes(shape, values.Length), (IntPtr)data,
                                              bytes.Length);
    }
    Failure.Check();
    return Own(made);
  }

  /// <summary>Copies all elements, converted to the type of the span, into its front.</summary>
  public void Read<T>(Span<T> values) where T : struct {
    var dtype = DtypeOf<T>();
    var bytes = MemoryMarshal.AsBytes(values);
    fixed (byte* data = &MemoryMarshal.GetReference(bytes)) {
      NativePINVOKE.tensor_read_memory(Reference(this), (int)dtype, (IntPtr)data, bytes.Length);
    }
    Failure.Check();
  }

  /// <summary>Replaces all elements, in row-major order.</summary>
  public void Write<T>(ReadOnlySpan<T> values) where T : struct {
    var dtype = DtypeOf<T>();
    var bytes = MemoryMarshal.AsBytes(values);
    fixed (byte* data = &MemoryMarshal.GetReference(bytes)) {
      NativePINVOKE.tensor_write_memory(Reference(this), (int)dtype, (IntPtr)data, bytes.Length);
    }
    Failure.Check();
  }

  /// <summary>
  /// The elements where they are, without a copy: valid until the tensor is disposed of or collected, or its scope
  /// ends. A span cannot keep memory, so the program must keep the tensor, for instance by `using`; Lend returns memory
  /// that stays. The type is that of the dtype; F16 and BF16 are any type of two bytes, and 8-bit floats any of one.
  /// The checks of Backward do not notice a write: call MarkWritten after it. A read-only tensor is refused.
  /// </summary>
  public Span<T> AsSpan<T>() where T : struct {
    CheckElements<T>();
    bool isReadOnly = NativePINVOKE.tensor_is_read_only(Reference(this));
    Failure.Check();
    if (isReadOnly) throw new InvalidOperationException("the tensor is read-only: call AsReadOnlySpan, or Clone it");
    return new Span<T>((void*)DataAddress, checked((int)Numel));
  }

  /// <summary>The elements where they are, as AsSpan, to be read; also of a read-only tensor.</summary>
  public ReadOnlySpan<T> AsReadOnlySpan<T>() where T : struct {
    CheckElements<T>();
    return new ReadOnlySpan<T>((void*)DataAddress, checked((int)Numel));
  }

  /// <summary>
  /// The elements where they are, as AsSpan, of a tensor that requires no gradient. The result keeps them: the tensor
  /// may be disposed of, and its scope may end. Spans of it are valid until the result is disposed of, or it and its
  /// Memory are collected.
  /// </summary>
  public IMemoryOwner<T> Lend<T>() where T : struct {
    CheckElements<T>();
    int length = checked((int)Numel);
    var loan = NativePINVOKE.lend_memory(Reference(this));
    Failure.Check();
    return new TensorMemory<T>(loan, length);
  }

  internal static long SizeOf<T>() where T : struct { return MemoryMarshal.AsBytes(new Span<T>(new T[1])).Length; }

  private void CheckElements<T>() where T : struct {
    using (var device = Device) {
      if (device.Kind != DeviceType.Cpu) throw new InvalidOperationException("a span needs memory of the CPU");
    }
    if (!IsContiguous()) throw new InvalidOperationException("a span needs contiguous elements; call Contiguous");
    long size = SizeOf<T>();
    bool hasType = Array.IndexOf(typed, Dtype) >= 0;
    if (size != Ops.DtypeSize(Dtype) || (hasType && DtypeOf<T>() != Dtype)) {
      throw new ArgumentException($"the elements are {Dtype}, not {typeof(T)}");
    }
  }
}

}
