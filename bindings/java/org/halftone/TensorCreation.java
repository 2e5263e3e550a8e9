package org.halftone;

import java.util.function.Function;
import java.util.function.LongConsumer;

/** Makes a {@link Tensor} on the CPU where the program names no device. */
abstract class TensorCreation extends NativeObject {
  TensorCreation(long handle, LongConsumer release) {
    super(handle, release);
  }

  static Tensor onCpu(Function<Device, Tensor> make) {
    try (Device device = new Device("cpu")) {
      return make.apply(device);
    }
  }

  /**
   * Makes a tensor of zeros on the CPU, in F32.
   *
   * @param shape the sizes; none for a single number
   * @return the tensor
   */
  public static Tensor zeros(long... shape) {
    return onCpu(device -> Tensor.zeros(device, Dtype.F32, shape));
  }

  /**
   * Makes a tensor of ones on the CPU, in F32.
   *
   * @param shape the sizes; none for a single number
   * @return the tensor
   */
  public static Tensor ones(long... shape) {
    return onCpu(device -> Tensor.ones(device, Dtype.F32, shape));
  }

  /**
   * Makes a tensor of one value on the CPU, in F32.
   *
   * @param value of every element
   * @param shape the sizes; none for a single number
   * @return the tensor
   */
  public static Tensor full(double value, long... shape) {
    return onCpu(device -> Tensor.full(device, Dtype.F32, shape, value));
  }

  /**
   * Makes a tensor of random numbers, uniform in [0, 1), on the CPU, in F32.
   *
   * @param shape the sizes; none for a single number
   * @return the tensor
   */
  public static Tensor rand(long... shape) {
    return onCpu(device -> Halftone.rand(device, Dtype.F32, shape));
  }

  /**
   * Makes a tensor of random numbers of the standard normal distribution on the CPU, in F32.
   *
   * @param shape the sizes; none for a single number
   * @return the tensor
   */
  public static Tensor randn(long... shape) {
    return onCpu(device -> Halftone.randn(device, Dtype.F32, shape));
  }

  /**
   * Makes a tensor of the integers from 0 on, on the CPU, in I64.
   *
   * @param end the first integer that is left out
   * @return the tensor, of one dimension
   */
  public static Tensor arange(long end) {
    return onCpu(device -> Halftone.arange(device, Dtype.I64, 0, end, 1));
  }

  /**
   * Makes an identity matrix on the CPU, in F32.
   *
   * @param size of both dimensions
   * @return the tensor
   */
  public static Tensor eye(long size) {
    return onCpu(device -> Halftone.eye(device, Dtype.F32, size, size));
  }
}
