package org.halftone;

import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Objects;
import java.util.function.LongConsumer;

/** The elements of a {@link Tensor} in Java's arrays and buffers. */
abstract class TensorData extends TensorOfValues {
  TensorData(long handle, LongConsumer release) {
    super(handle, release);
    NativeMemory.made(handle);
  }

  /**
   * Makes a tensor over the memory of a direct buffer, from its position to its limit, without a copy. The buffer stays
   * reachable as long as the tensor's memory is in use; an arena that it comes from must stay open as long.
   *
   * @param device the CPU.
   * @param dtype of the elements in the buffer, for which any kind of buffer will do.
   * @param buffer direct, writable, of the native byte order.
   * @param shape the sizes, of as many elements as the buffer has.
   * @return the tensor
   */
  public static Tensor wrap(Device device, Dtype dtype, Buffer buffer, long... shape) {
    Buffer part = remaining(buffer);
    long out = NativeJNI.tensor_over_buffer(handle(device), dtype.value(), shape, part, bytes(part));
    Reference.reachabilityFence(device);
    return Tensor.own(out);
  }

  /**
   * Makes a tensor of F32 over the memory of a direct buffer, without a copy, as the method with a dtype does.
   *
   * @param device the CPU
   * @param buffer direct, writable, of the native byte order
   * @param shape the sizes; without them the tensor has one dimension
   * @return the tensor
   */
  public static Tensor wrap(Device device, FloatBuffer buffer, long... shape) {
    return wrap(device, Dtype.F32, buffer, shape.length == 0 ? new long[] {buffer.remaining()} : shape);
  }

  /**
   * Copies all elements as floats to a buffer, from its position on; the position does not change.
   *
   * @param buffer writable, direct or over an array, of any byte order
   */
  public void read(FloatBuffer buffer) {
    if (buffer.isDirect() && buffer.order() == ByteOrder.nativeOrder()) {
      read(Dtype.F32, buffer);
    } else {
      buffer.duplicate().put(toFloatArray());
    }
  }

  /**
   * Copies all elements to a direct buffer of any kind, from its position on; the position does not change.
   *
   * @param dtype to which they are converted
   * @param buffer direct, writable, of the native byte order
   */
  public void read(Dtype dtype, Buffer buffer) {
    Buffer part = remaining(buffer);
    NativeJNI.tensor_read_buffer(handle(), dtype.value(), part, bytes(part));
    Reference.reachabilityFence(this);
  }

  /**
   * Returns all elements as floats.
   *
   * @return a new array, in row-major order
   */
  public float[] toFloatArray() {
    float[] values = new float[length()];
    read(Dtype.F32, values);
    return values;
  }

  /**
   * Returns all elements as doubles.
   *
   * @return a new array, in row-major order
   */
  public double[] toDoubleArray() {
    double[] values = new double[length()];
    read(Dtype.F64, values);
    return values;
  }

  /**
   * Returns all elements as longs.
   *
   * @return a new array, in row-major order
   */
  public long[] toLongArray() {
    long[] values = new long[length()];
    read(Dtype.I64, values);
    return values;
  }

  /**
   * Returns all elements as ints.
   *
   * @return a new array, in row-major order
   */
  public int[] toIntArray() {
    int[] values = new int[length()];
    read(Dtype.I32, values);
    return values;
  }

  /**
   * Returns all elements as unsigned bytes.
   *
   * @return a new array, in row-major order
   */
  public byte[] toByteArray() {
    byte[] values = new byte[length()];
    read(Dtype.U8, values);
    return values;
  }

  /**
   * Replaces all elements.
   *
   * @param values the new ones, in row-major order
   */
  public void write(float... values) {
    write(Dtype.F32, values);
  }

  /**
   * Replaces all elements.
   *
   * @param values the new ones, in row-major order
   */
  public void write(long... values) {
    write(Dtype.I64, values);
  }

  /**
   * Replaces all elements by the remaining floats of a buffer, whose position stays.
   *
   * @param values the new ones, in row-major order; the buffer may have any byte order
   */
  public void write(FloatBuffer values) {
    float[] copy = new float[values.remaining()];
    values.duplicate().get(copy);
    write(copy);
  }

  /**
   * Returns the elements where they are, without a copy: a write changes the tensor. The buffer keeps the memory, so the
   * tensor may be closed. The checks of backward do not notice a write: call {@link Tensor#markWritten} after it.
   * {@code asByteBuffer().asFloatBuffer()} shows the floats of an F32 tensor.
   *
   * @return a direct buffer of the native byte order
   */
  public ByteBuffer asByteBuffer() {
    Tensor self = (Tensor) this;
    try (Device device = self.device()) {
      if (device.kind() != DeviceType.CPU) throw new IllegalStateException("a buffer needs memory of the CPU");
    }
    if (!self.isContiguous()) throw new IllegalStateException("a buffer needs contiguous elements; call contiguous");
    long loan = NativeJNI.lend_memory(handle());
    ByteBuffer lent = NativeJNI.lent_buffer(loan, self.numel() * Halftone.dtypeSize(self.dtype()));
    Reference.reachabilityFence(this);
    new Release(lent, loan, NativeJNI::end_loan);
    return lent.order(ByteOrder.nativeOrder());
  }

  /**
   * The address of the elements, for other native libraries; valid as long as this object is open: it must not be
   * closed or unreachable, and its scope must not have ended.
   *
   * @return the address of the first element
   */
  public long dataAddress() {
    long address = NativeJNI.tensor_data_address(handle());
    Reference.reachabilityFence(this);
    return address;
  }

  /**
   * Returns the part at an index of the first dimensions: {@code x.get(2)} is a row of a matrix, {@code x.get(2, -1)}
   * its last element.
   *
   * @param index one number for each of the first dimensions, negative from the end
   * @return a view, without these dimensions
   */
  public Tensor get(long... index) {
    Tensor part = (Tensor) this;
    long[] shape = part.shape();
    if (index.length > shape.length) {
      throw new IndexOutOfBoundsException(index.length + " indices for " + shape.length + " dimensions");
    }
    long[] first = new long[index.length];
    for (int i = 0; i < index.length; ++i) {
      long from = index[i] < 0 ? index[i] + shape[i] : index[i];
      if (from < 0 || from >= shape[i]) {
        throw new IndexOutOfBoundsException("index " + index[i] + " of dimension " + i + ", whose size is " + shape[i]);
      }
      Tensor next = part.slice(i, from, from + 1);
      if (part != this) part.close();
      part = next;
      first[i] = i;
    }
    if (index.length == 0) return part.reshape(shape);
    try (Tensor rows = part) {
      return rows.squeeze(first);
    }
  }

  /** The values, as the library formats them. */
  @Override
  public String toString() {
    return shown(((Tensor) this)::format);
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
