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

  /** Nobody waits for this call, so the exception goes where those of threads go. */
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

  Module module() {
    return Module.own(NativeJNI.retain_module(integer()));
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

  /** Memory of the library, which must not be used after the call. */
  ByteBuffer[] buffers() {
    long[] places = integers();
    ByteBuffer[] buffers = new ByteBuffer[places.length / 2];
    for (int i = 0; i < buffers.length; ++i) {
      boolean isEmpty = places[2 * i + 1] == 0;
      ByteBuffer buffer = isEmpty ? ByteBuffer.allocateDirect(0)
                                  : NativeJNI.buffer_at(places[2 * i], places[2 * i + 1]);
      buffers[i] = buffer.order(ByteOrder.nativeOrder());
    }
    return buffers;
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
