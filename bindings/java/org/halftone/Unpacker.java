package org.halftone;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads the fields of a structure, or the arguments of a call, from bytes, as swig/packed.h writes them. */
class Unpacker {
  private final ByteBuffer buffer;

  Unpacker(byte[] packed) {
    buffer = ByteBuffer.wrap(packed).order(ByteOrder.nativeOrder());
  }

  long integer() {
    return buffer.getLong();
  }

  double real() {
    return buffer.getDouble();
  }

  String text() {
    return Text.of(bytes());
  }

  byte[] bytes() {
    byte[] bytes = new byte[(int) integer()];
    buffer.get(bytes);
    return bytes;
  }

  long[] integers() {
    long[] values = new long[(int) integer()];
    for (int i = 0; i < values.length; ++i) values[i] = integer();
    return values;
  }
}
