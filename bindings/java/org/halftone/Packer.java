package org.halftone;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Writes the fields of a structure as bytes, as swig/packed.h reads them. */
final class Packer {
  private ByteBuffer buffer = ByteBuffer.allocate(256).order(ByteOrder.nativeOrder());

  void put(long value) {
    room(Long.BYTES).putLong(value);
  }

  void put(double value) {
    room(Double.BYTES).putDouble(value);
  }

  void put(String text) {
    byte[] bytes = Text.bytes(text == null ? "" : text);
    put(bytes.length);
    room(bytes.length).put(bytes);
  }

  void put(long[] values) {
    put(values.length);
    for (long value : values) put(value);
  }

  byte[] bytes() {
    return Arrays.copyOf(buffer.array(), buffer.position());
  }

  private ByteBuffer room(int size) {
    if (buffer.remaining() < size) {
      byte[] larger = Arrays.copyOf(buffer.array(), 2 * (buffer.capacity() + size));
      buffer = ByteBuffer.wrap(larger).order(ByteOrder.nativeOrder()).position(buffer.position());
    }
    return buffer;
  }
}
