package org.halftone;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/** Float buffers that native code can write to. */
final class FloatBuffers {
  private FloatBuffers() {}

  static FloatBuffer allocate(long count) {
    int bytes = Math.toIntExact(Math.multiplyExact(count, Float.BYTES));
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder()).asFloatBuffer();
  }

  /** Returns the part from position to limit as a slice, because native code reads from a buffer's first element. */
  static FloatBuffer remaining(FloatBuffer buffer) {
    if (!buffer.isDirect() || buffer.isReadOnly() || buffer.order() != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException("the buffer is not direct, writable and of native byte order");
    }
    return buffer.slice();
  }
}
