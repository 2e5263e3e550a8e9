package org.halftone;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads the fields of a structure from bytes, as swig/packed.h writes them. */
final class Unpacker {
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
    byte[] bytes = new byte[(int) integer()];
    buffer.get(bytes);
    return Text.of(bytes);
  }

  long[] integers() {
    long[] values = new long[(int) integer()];
    for (int i = 0; i < values.length; ++i) values[i] = integer();
    return values;
  }
}
