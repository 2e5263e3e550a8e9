package org.halftone;

import java.lang.ref.Reference;
import java.nio.FloatBuffer;
import java.util.function.LongConsumer;

/** Makes a {@link Tensor} of Java's values. */
abstract class TensorOfValues extends TensorCreation {
  TensorOfValues(long handle, LongConsumer release) {
    super(handle, release);
  }

  /**
   * Copies an array to a tensor of F32.
   *
   * @param device of the tensor
   * @param values the elements, in row-major order
   * @param shape the sizes; without them the tensor has one dimension
   * @return the tensor
   */
  public static Tensor of(Device device, float[] values, long... shape) {
    return copied(device, Dtype.F32, values, values.length, shape);
  }

  /**
   * Copies an array to a tensor of F32 on the CPU.
   *
   * @param values the elements, in row-major order
   * @param shape the sizes
   * @return the tensor
   */
  public static Tensor of(float[] values, long... shape) {
    return onCpu(device -> of(device, values, shape));
  }

  /**
   * Makes a tensor of one dimension of F32 on the CPU.
   *
   * @param values the elements
   * @return the tensor
   */
  public static Tensor of(float... values) {
    return onCpu(device -> of(device, values));
  }

  /**
   * Copies an array to a tensor of F64.
   *
   * @param device of the tensor
   * @param values the elements, in row-major order
   * @param shape the sizes; without them the tensor has one dimension
   * @return the tensor
   */
  public static Tensor of(Device device, double[] values, long... shape) {
    return copied(device, Dtype.F64, values, values.length, shape);
  }

  /**
   * Copies an array to a tensor of F64 on the CPU.
   *
   * @param values the elements, in row-major order
   * @param shape the sizes
   * @return the tensor
   */
  public static Tensor of(double[] values, long... shape) {
    return onCpu(device -> of(device, values, shape));
  }

  /**
   * Makes a tensor of one dimension of F64 on the CPU.
   *
   * @param values the elements
   * @return the tensor
   */
  public static Tensor of(double... values) {
    return onCpu(device -> of(device, values));
  }

  /**
   * Copies an array to a tensor of I64.
   *
   * @param device of the tensor
   * @param values the elements, in row-major order
   * @param shape the sizes; without them the tensor has one dimension
   * @return the tensor
   */
  public static Tensor of(Device device, long[] values, long... shape) {
    return copied(device, Dtype.I64, values, values.length, shape);
  }

  /**
   * Copies an array to a tensor of I64 on the CPU.
   *
   * @param values the elements, in row-major order
   * @param shape the sizes
   * @return the tensor
   */
  public static Tensor of(long[] values, long... shape) {
    return onCpu(device -> of(device, values, shape));
  }

  /**
   * Makes a tensor of one dimension of I64 on the CPU.
   *
   * @param values the elements
   * @return the tensor
   */
  public static Tensor of(long... values) {
    return onCpu(device -> of(device, values));
  }

  /**
   * Copies an array to a tensor of I32.
   *
   * @param device of the tensor
   * @param values the elements, in row-major order
   * @param shape the sizes; without them the tensor has one dimension
   * @return the tensor
   */
  public static Tensor of(Device device, int[] values, long... shape) {
    return copied(device, Dtype.I32, values, values.length, shape);
  }

  /**
   * Copies an array to a tensor of I32 on the CPU.
   *
   * @param values the elements, in row-major order
   * @param shape the sizes
   * @return the tensor
   */
  public static Tensor of(int[] values, long... shape) {
    return onCpu(device -> of(device, values, shape));
  }

  /**
   * Makes a tensor of one dimension of I32 on the CPU.
   *
   * @param values the elements
   * @return the tensor
   */
  public static Tensor of(int... values) {
    return onCpu(device -> of(device, values));
  }

  /**
   * Copies an array to a tensor of U8, in which -1 is 255.
   *
   * @param device of the tensor
   * @param values the elements, in row-major order
   * @param shape the sizes; without them the tensor has one dimension
   * @return the tensor
   */
  public static Tensor of(Device device, byte[] values, long... shape) {
    return copied(device, Dtype.U8, values, values.length, shape);
  }

  /**
   * Copies an array to a tensor of U8 on the CPU, in which -1 is 255.
   *
   * @param values the elements, in row-major order
   * @param shape the sizes
   * @return the tensor
   */
  public static Tensor of(byte[] values, long... shape) {
    return onCpu(device -> of(device, values, shape));
  }

  /**
   * Makes a tensor of one dimension of U8 on the CPU, in which -1 is 255.
   *
   * @param values the elements
   * @return the tensor
   */
  public static Tensor of(byte... values) {
    return onCpu(device -> of(device, values));
  }

  /**
   * Copies an array to a tensor of BOOL.
   *
   * @param device of the tensor
   * @param values the elements, in row-major order
   * @param shape the sizes; without them the tensor has one dimension
   * @return the tensor
   */
  public static Tensor of(Device device, boolean[] values, long... shape) {
    return copied(device, Dtype.BOOL, values, values.length, shape);
  }

  /**
   * Copies an array to a tensor of BOOL on the CPU.
   *
   * @param values the elements, in row-major order
   * @param shape the sizes
   * @return the tensor
   */
  public static Tensor of(boolean[] values, long... shape) {
    return onCpu(device -> of(device, values, shape));
  }

  /**
   * Makes a tensor of one dimension of BOOL on the CPU.
   *
   * @param values the elements
   * @return the tensor
   */
  public static Tensor of(boolean... values) {
    return onCpu(device -> of(device, values));
  }

  /**
   * Copies the remaining floats of a buffer to a tensor of F32. The buffer may have any order, and its position stays.
   *
   * @param device of the tensor
   * @param values the elements
   * @param shape the sizes; without them the tensor has one dimension
   * @return the tensor
   */
  public static Tensor of(Device device, FloatBuffer values, long... shape) {
    float[] copy = new float[values.remaining()];
    values.duplicate().get(copy);
    return of(device, copy, shape);
  }

  /**
   * Copies the remaining floats of a buffer to a tensor of F32 on the CPU.
   *
   * @param values the elements
   * @param shape the sizes; without them the tensor has one dimension
   * @return the tensor
   */
  public static Tensor of(FloatBuffer values, long... shape) {
    return onCpu(device -> of(device, values, shape));
  }

  /**
   * Makes a matrix of F32 on the CPU.
   *
   * @param rows the elements; every row has as many
   * @return the tensor
   */
  public static Tensor of(float[][] rows) {
    int width = rows.length == 0 ? 0 : rows[0].length;
    FloatBuffer all = FloatBuffer.allocate(rows.length * width);
    for (int i = 0; i < rows.length; ++i) {
      if (rows[i].length != width) {
        throw new IllegalArgumentException("row " + i + " has " + rows[i].length + " elements, row 0 has " + width);
      }
      all.put(rows[i]);
    }
    return of(all.flip(), rows.length, width);
  }

  private static Tensor copied(Device device, Dtype dtype, Object values, long length, long[] shape) {
    long[] sizes = shape.length == 0 ? new long[] {length} : shape;
    long out = NativeJNI.tensor_from_numbers(handle(device), dtype.value(), sizes, values);
    Reference.reachabilityFence(device);
    return Tensor.own(out);
  }
}
