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
    Shape = Packer.Required(shape, nameof(shape));
  }
}

/// <summary>A call of a BatchLoader, which has memory of the library until it ends.</summary>
sealed class BatchLoading : IDisposable {
  internal bool HasEnded { get; private set; }

  public void Dispose() { HasEnded = true; }
}

/// <summary>
/// The memory of a batch in one tensor. It ends with the function that received it: every later use is an
/// ObjectDisposedException.
/// </summary>
public unsafe struct BatchRows {
  private readonly IntPtr address;
  private readonly BatchLoading loading;

  /// <summary>Of the first element.</summary>
  public IntPtr Address {
    get {
      if (loading == null || loading.HasEnded) throw new ObjectDisposedException("memory of a batch");
      return address;
    }
  }

  /// <summary>Of all rows, in bytes.</summary>
  public long Size { get; }

  internal BatchRows(IntPtr address, long size, BatchLoading loading) {
    this.address = address;
    this.loading = loading;
    Size = size;
  }

  /// <summary>The memory itself, as elements of a type of the right size.</summary>
  public Span<T> AsSpan<T>() where T : struct {
    return MemoryMarshal.Cast<byte, T>(new Span<byte>((void*)Address, checked((int)Size)));
  }

  /// <summary>Fills the rows with the elements of an array, which has exactly as many bytes.</summary>
  public void Write<T>(T[] values) where T : struct {
    if (Buffer.ByteLength(Packer.Required(values, nameof(values))) != Size) {
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
    var types = Packer.Required(rows, nameof(rows))
        .SelectMany(row => new[] {(long)row.Dtype, row.Shape.Length}.Concat(row.Shape)).ToArray();
    Callback load = call => {
      using (var loading = new BatchLoading()) loader(call.Integers(), call.Rows(loading));
    };
    var made = NativePINVOKE.batches_of_function(Required(device, nameof(device)), Required(sampler, nameof(sampler)),
                                                 Packer.Integers(types), CallbackCall.Handle(load));
    Failure.Check();
    return Own(made);
  }
}

}
