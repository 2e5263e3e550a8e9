package org.halftone;

import java.util.Arrays;
import java.util.function.IntFunction;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import java.util.function.Supplier;

/**
 * An object of the library. It is released by {@link #close}, at the end of the {@link Scope} in which it was made, or
 * some time after it became unreachable. A use after {@link #close} is an {@link IllegalStateException}, and one after
 * the end of the scope an {@link InvalidHandleException}: the library never reuses the value of a handle.
 */
public abstract class NativeObject implements AutoCloseable {
  private final long handle;
  private final Release release;
  private boolean isClosed;  // not volatile: for a thread that does not see it yet the library refuses the handle

  /** An object that owns its handle; {@code release} runs once. */
  NativeObject(long handle, LongConsumer release) {
    this.handle = handle;
    this.release = new Release(this, handle, release);
  }

  /** An object that nothing releases. */
  NativeObject(long handle) {
    this.handle = handle;
    release = null;
  }

  /** Releases the object now; closing it again does nothing. */
  @Override
  public void close() {
    isClosed = true;
    if (release != null) release.run();
  }

  /** The class, and whether the object is closed. */
  @Override
  public String toString() {
    return shown(() -> name() + "[" + Long.toHexString(handle) + "]");
  }

  /** The text of an object for programmers: one that can no longer be read says why, in place of an exception. */
  final String shown(Supplier<String> text) {
    if (isClosed) return name() + "[closed]";
    try {
      return text.get();
    } catch (HalftoneException | IllegalStateException ended) {
      return name() + "[" + ended.getMessage() + "]";
    }
  }

  private String name() {
    return getClass().getSimpleName();
  }

  final long handle() {
    if (isClosed) throw new IllegalStateException(name() + " is closed");
    return handle;
  }

  static long handle(NativeObject object) {
    return object == null ? 0 : object.handle();
  }

  static long[] handles(NativeObject... objects) {
    return objects == null ? null : Arrays.stream(objects).mapToLong(one -> handle(one)).toArray();
  }

  static <T> T[] own(long[] handles, IntFunction<T[]> array, LongFunction<T> owner) {
    return Arrays.stream(handles).mapToObj(owner).toArray(array);
  }
}
