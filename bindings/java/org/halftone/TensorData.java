package org.halftone;

import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Objects;
import java.util.function.LongConsumer;

/** Java's arrays and buffers into and out of a {@link Tensor}. */
abstract class TensorData extends NativeObject {
  TensorData(long handle, LongConsumer release) {
    super(handle, release);
    NativeMemory.made(handle);
  }

  /** Copies an array to a tensor of F32; without a shape it has one dimension. */
  public static Tensor of(Device device, float[] values, long... shape) {
    return copied(device, Dtype.F32, values, values.length, shape);
  }

  /** Copies an array to a tensor of F64; without a shape it has one dimension. */
  public static Tensor of(Device device, double[] values, long... shape) {
    return copied(device, Dtype.F64, values, values.length, shape);
  }

  /** Copies an array to a tensor of I64; without a shape it has one dimension. */
  public static Tensor of(Device device, long[] values, long... shape) {
    return copied(device, Dtype.I64, values, values.length, shape);
  }

  /** Copies an array to a tensor of I32; without a shape it has one dimension. */
  public static Tensor of(Device device, int[] values, long... shape) {
    return copied(device, Dtype.I32, values, values.length, shape);
  }

  /** Copies an array to a tensor of U8, in which -1 is 255; without a shape it has one dimension. */
  public static Tensor of(Device device, byte[] values, long... shape) {
    return copied(device, Dtype.U8, values, values.length, shape);
  }

  /** Copies an array to a tensor of BOOL; without a shape it has one dimension. */
  public static Tensor of(Device device, boolean[] values, long... shape) {
    return copied(device, Dtype.BOOL, values, values.length, shape);
  }

  private static Tensor copied(Device device, Dtype dtype, Object values, long length, long[] shape) {
    long[] sizes = shape.length == 0 ? new long[] {length} : shape;
    long out = NativeJNI.tensor_from_numbers(handle(device), dtype.value(), sizes, values);
    Reference.reachabilityFence(device);
    return Tensor.own(out);
  }

  /**
   * Makes a tensor over the memory of a direct buffer, from its position to its limit, without a copy. The buffer stays
   * reachable as long as the tensor's memory is in use; an arena that it comes from must stay open as long.
   *
   * @param device the CPU.
   * @param dtype of the elements in the buffer, for which any kind of buffer will do.
   * @param buffer direct, writable, of the native byte order.
   * @param shape the sizes, of as many elements as the buffer has.
   */
  public static Tensor wrap(Device device, Dtype dtype, Buffer buffer, long... shape) {
    Buffer part = remaining(buffer);
    long out = NativeJNI.tensor_over_buffer(handle(device), dtype.value(), shape, part, bytes(part));
    Reference.reachabilityFence(device);
    return Tensor.own(out);
  }

  /** Makes a tensor of F32 over the memory of a direct buffer, without a copy; see the function with a dtype. */
  public static Tensor wrap(Device device, FloatBuffer buffer, long... shape) {
    return wrap(device, Dtype.F32, buffer, shape.length == 0 ? new long[] {buffer.remaining()} : shape);
  }

  /** Copies all elements as floats to the direct buffer, from its position on; the position does not change. */
  public void read(FloatBuffer buffer) {
    read(Dtype.F32, buffer);
  }

  /** Copies all elements, converted to {@code dtype}, to a direct buffer of any kind, from its position on. */
  public void read(Dtype dtype, Buffer buffer) {
    Buffer part = remaining(buffer);
    NativeJNI.tensor_read_buffer(handle(), dtype.value(), part, bytes(part));
    Reference.reachabilityFence(this);
  }

  /** All elements as floats, in a new array. */
  public float[] read() {
    float[] values = new float[length()];
    read(Dtype.F32, values);
    return values;
  }

  /** All elements as doubles, in a new array. */
  public double[] readDoubles() {
    double[] values = new double[length()];
    read(Dtype.F64, values);
    return values;
  }

  /** All elements as longs, in a new array. */
  public long[] readLongs() {
    long[] values = new long[length()];
    read(Dtype.I64, values);
    return values;
  }

  /** All elements as ints, in a new array. */
  public int[] readInts() {
    int[] values = new int[length()];
    read(Dtype.I32, values);
    return values;
  }

  /** All elements as unsigned bytes, in a new array. */
  public byte[] readBytes() {
    byte[] values = new byte[length()];
    read(Dtype.U8, values);
    return values;
  }

  /** Replaces all elements, in row-major order. */
  public void write(float... values) {
    write(Dtype.F32, values);
  }

  /** Replaces all elements, in row-major order. */
  public void write(long... values) {
    write(Dtype.I64, values);
  }

  /**
   * The address of the elements, for other native libraries; valid as long as this object is open: it must not be
   * closed or unreachable, and its scope must not have ended.
   */
  public long dataAddress() {
    long address = NativeJNI.tensor_data_address(handle());
    Reference.reachabilityFence(this);
    return address;
  }

  /** The values, as the library formats them. */
  @Override
  public String toString() {
    return ((Tensor) this).format();
  }

  private int length() {
    return Math.toIntExact(((Tensor) this).numel());
  }

  private void read(Dtype dtype, Object array) {
    NativeJNI.tensor_read_numbers(handle(), dtype.value(), array);
    Reference.reachabilityFence(this);
  }

  private void write(Dtype dtype, Object array) {
    NativeJNI.tensor_write_numbers(handle(), dtype.value(), Objects.requireNonNull(array, "values"));
    Reference.reachabilityFence(this);
  }

  /** The part from position to limit, which begins where native code finds the buffer. */
  private static Buffer remaining(Buffer buffer) {
    if (!buffer.isDirect() || buffer.isReadOnly() || order(buffer) != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException("the buffer is not direct, writable and of native byte order");
    }
    return buffer.slice();
  }

  /** The bytes of a ByteBuffer have no order. */
  private static ByteOrder order(Buffer buffer) {
    if (buffer instanceof FloatBuffer) return ((FloatBuffer) buffer).order();
    if (buffer instanceof DoubleBuffer) return ((DoubleBuffer) buffer).order();
    if (buffer instanceof LongBuffer) return ((LongBuffer) buffer).order();
    if (buffer instanceof IntBuffer) return ((IntBuffer) buffer).order();
    if (buffer instanceof ShortBuffer) return ((ShortBuffer) buffer).order();
    return ByteOrder.nativeOrder();
  }

  private static long bytes(Buffer buffer) {
    int size = 1;
    if (buffer instanceof DoubleBuffer || buffer instanceof LongBuffer) {
      size = 8;
    } else if (buffer instanceof FloatBuffer || buffer instanceof IntBuffer) {
      size = 4;
    } else if (buffer instanceof ShortBuffer) {
      size = 2;
    }
    return (long) buffer.remaining() * size;
  }
}
