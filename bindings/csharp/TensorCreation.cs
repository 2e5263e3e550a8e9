using System;

namespace Halftone {

/// <summary>Makes tensors on the CPU where the program names no device.</summary>
public sealed partial class Tensor {
  private static Tensor OnCpu(Func<Device, Tensor> make) {
    using (var device = new Device("cpu")) return make(device);
  }

  /// <summary>Makes a tensor of zeros on the CPU, in F32.</summary>
  public static Tensor Zeros(params long[] shape) {
    return OnCpu(device => Zeros(device, Halftone.Dtype.F32, shape));
  }

  /// <summary>Makes a tensor of ones on the CPU, in F32.</summary>
  public static Tensor Ones(params long[] shape) {
    return OnCpu(device => Ones(device, Halftone.Dtype.F32, shape));
  }

  /// <summary>Makes a tensor of one value on the CPU, in F32.</summary>
  public static Tensor Full(double value, params long[] shape) {
    return OnCpu(device => Full(device, Halftone.Dtype.F32, shape, value));
  }

  /// <summary>Makes a tensor of random numbers, uniform in [0, 1), on the CPU, in F32.</summary>
  public static Tensor Rand(params long[] shape) {
    return OnCpu(device => Ops.Rand(device, Halftone.Dtype.F32, shape));
  }

  /// <summary>Makes a tensor of random numbers of the standard normal distribution on the CPU, in F32.</summary>
  public static Tensor Randn(params long[] shape) {
    return OnCpu(device => Ops.Randn(device, Halftone.Dtype.F32, shape));
  }

  /// <summary>Makes a tensor of the integers from 0 to before the end on the CPU, in I64.</summary>
  public static Tensor Arange(long end) {
    return OnCpu(device => Ops.Arange(device, Halftone.Dtype.I64, 0, end, 1));
  }

  /// <summary>Makes an identity matrix on the CPU, in F32.</summary>
  public static Tensor Eye(long size) {
    return OnCpu(device => Ops.Eye(device, Halftone.Dtype.F32, size, size));
  }

  /// <summary>
  /// Copies an array to a tensor of its element type on the CPU; without a shape it has one dimension.
  /// </summary>
  public static Tensor From<T>(T[] values, params long[] shape) where T : struct {
    return OnCpu(device => From(device, values, shape));
  }

  /// <summary>Copies a span to a tensor of its element type on the CPU; without a shape it has one dimension.</summary>
  public static Tensor From<T>(ReadOnlySpan<T> values, params long[] shape) where T : struct {
    using (var device = new Device("cpu")) return From(device, values, shape);
  }

  /// <summary>Copies the rows of an array to a matrix of their element type on the CPU.</summary>
  public static Tensor From<T>(T[,] values) where T : struct {
    var flat = new T[Packer.Required(values, nameof(values)).Length];
    Buffer.BlockCopy(values, 0, flat, 0, Buffer.ByteLength(values));
    return From(flat, values.GetLength(0), values.GetLength(1));
  }
}

}
