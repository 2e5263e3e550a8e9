using System;
using System.Linq;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>What one sample is in a tensor of Batches.</summary>
public sealed class Row {
  /// <summary>Of the elements.</summary>
  public Dtype Dtype { get; }

  /// <summary>Of the sample; a single number has none.</summary>
  public long[] Shape { get; }

  /// <summary>Describes a sample.</summary>
  public Row(Dtype dtype, params long[] shape) {
    Dtype = dtype;
    Shape = shape;
  }
}

/// <summary>The memory of a batch in one tensor, which must not be used after the function that received it.</summary>
public unsafe struct BatchRows {
  /// <summary>Of the first element.</summary>
  public IntPtr Address { get; }

  /// <summary>Of all rows, in bytes.</summary>
  public long Size { get; }

  internal BatchRows(IntPtr address, long size) {
    Address = address;
    Size = size;
  }

  /// <summary>The memory itself, as elements of a type of the right size.</summary>
  public Span<T> AsSpan<T>() where T : struct {
    return MemoryMarshal.Cast<byte, T>(new Span<byte>((void*)Address, checked((int)Size)));
  }

  /// <summary>Fills the rows with the elements of an array, which has exactly as many bytes.</summary>
  public void Write<T>(T[] values) where T : struct {
    if (Buffer.ByteLength(values) != Size) {
      throw new ArgumentException($"{Buffer.ByteLength(values)} bytes for rows of {Size} bytes", nameof(values));
    }
    var bytes = values as byte[];
    if (bytes == null) {
      bytes = new byte[Size];
      Buffer.BlockCopy(values, 0, bytes, 0, bytes.Length);
    }
    Marshal.Copy(bytes, 0, Address, bytes.Length);
  }
}

/// <summary>
/// Fills a batch: the memory of each tensor is [indices.Length, row shape]. It must not be used after the call.
/// </summary>
public delegate void BatchLoader(long[] indices, BatchRows[] rows);

/// <summary>Batches that a function of the program fills.</summary>
public sealed partial class Batches {
  /// <summary>Makes a source of batches that a function fills.</summary>
  /// <param name="device">of the tensors.</param>
  /// <param name="sampler">chooses the samples; taking a batch moves it.</param>
  /// <param name="loader">fills the rows; it must not take a batch of this source.</param>
  /// <param name="rows">what a sample is in each tensor.</param>
  /// <remarks>C: htone_batches_create_callback</remarks>
  public static Batches FromFunction(Device device, Sampler sampler, BatchLoader loader, params Row[] rows) {
    Packer.Required(loader, nameof(loader));
    var types = rows.SelectMany(row => new[] {(long)row.Dtype, row.Shape.Length}.Concat(row.Shape)).ToArray();
    Callback load = call => loader(call.Integers(), call.Rows());
    var made = NativePINVOKE.batches_of_function(Reference(device), Reference(sampler), Packer.Integers(types),
                                                 CallbackCall.Handle(load));
    Failure.Check();
    return Own(made);
  }
}

}
