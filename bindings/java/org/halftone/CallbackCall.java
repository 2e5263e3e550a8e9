package org.halftone;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** One running call of a {@link Callback}: its arguments in order, and the place of its result. */
final class CallbackCall extends Unpacker {
  private final long result;

  private CallbackCall(byte[] packed, long result) {
    super(packed);
    this.result = result;
  }

  /** Called by the wrapper, on any thread. Returns 0, or the status under which the failure is known. */
  static int run(Callback function, byte[] packed, long result) {
    var call = new CallbackCall(packed, result);
    boolean hasCaller = call.integer() != 0;
    boolean mayTimeOut = call.integer() != 0;
    try {
      function.run(call);
      return Status.OK.value();
    } catch (Throwable thrown) {
      return hasCaller ? failed(thrown, mayTimeOut) : reported(thrown);
    }
  }

  private static int failed(Throwable thrown, boolean mayTimeOut) {
    int status = Failures.store(thrown, mayTimeOut);
    NativeJNI.callback_failed(status, Text.bytes(thrown.toString().replace('\0', ' ')));
    return status;
  }

  /** No caller waits for this call, so the exception goes where those of threads go. */
  private static int reported(Throwable thrown) {
    Thread thread = Thread.currentThread();
    thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
    return Status.CALLBACK.value();
  }

  /** An object with a reference of its own, so the function may keep it; null if it is absent. */
  Tensor tensor() {
    return tensor(integer());
  }

  private static Tensor tensor(long borrowed) {
    return borrowed == 0 ? null : Tensor.own(NativeJNI.retain_tensor(borrowed));
  }

  Tensor[] tensors() {
    return Arrays.stream(integers()).mapToObj(CallbackCall::tensor).toArray(Tensor[]::new);
  }

  Block block() {
    return Block.own(NativeJNI.retain_module(integer()));
  }

  Parameter parameter() {
    return Parameter.own(NativeJNI.retain_parameter(integer()));
  }

  boolean[] flags() {
    long[] values = integers();
    boolean[] flags = new boolean[values.length];
    for (int i = 0; i < flags.length; ++i) flags[i] = values[i] != 0;
    return flags;
  }

  /** Null if they are absent. */
  byte[] optionalBytes() {
    boolean isAbsent = integer() != 0;
    byte[] bytes = bytes();
    return isAbsent ? null : bytes;
  }

  /**
   * Calls the loader with memory of Java's, and copies that to the memory of the library, which ends with the call: a
   * loader may keep its buffers.
   */
  void load(BatchLoader loader) throws Exception {
    long[] indices = integers();
    long[] places = integers();
    ByteBuffer[] rows = new ByteBuffer[places.length / 2];
    for (int i = 0; i < rows.length; ++i) {
      rows[i] = ByteBuffer.allocate(Math.toIntExact(places[2 * i + 1])).order(ByteOrder.nativeOrder());
    }
    loader.load(indices, rows.clone());
    for (int i = 0; i < rows.length; ++i) {
      if (rows[i].capacity() > 0) NativeJNI.copy_bytes(places[2 * i], rows[i].array());
    }
  }

  void give(double number) {
    NativeJNI.callback_number(result, number);
  }

  void give(long integer) {
    NativeJNI.callback_integer(result, integer);
  }

  void give(byte[] bytes) {
    if (bytes == null) {
      NativeJNI.callback_absent(result);
    } else {
      NativeJNI.callback_bytes(result, bytes);
    }
  }

  /** Null is no tensor at all: the library keeps what it has, or takes zero for a gradient. */
  void give(Tensor... tensors) {
    if (tensors == null) return;
    NativeJNI.callback_tensors(result, NativeObject.handles(tensors));
    Reference.reachabilityFence(tensors);
  }
}
