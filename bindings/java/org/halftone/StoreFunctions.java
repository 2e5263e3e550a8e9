package org.halftone;

/**
 * A key-value store of the program, such as one over its own connections; {@link Store#fromObject} makes a store of it.
 * Any thread calls the methods, several at once. Keys are text, values are bytes.
 */
public interface StoreFunctions {
  /** Sets a key's value. */
  void set(String key, byte[] value) throws Exception;

  /**
   * Waits until the key exists, at most so long.
   *
   * @param key of the value.
   * @param timeoutSeconds the longest time to wait.
   * @return its value, or null if there is none yet; a java.util.concurrent.TimeoutException says the same.
   */
  byte[] get(String key, double timeoutSeconds) throws Exception;

  /** Adds to a counter, a decimal number as text, and returns the sum; an absent key counts as 0. */
  long add(String key, long amount) throws Exception;

  /**
   * Replaces the value if it equals another one, in one step.
   *
   * @param key of the value.
   * @param expected the value that is replaced; null is an absent one.
   * @param desired the new value; null removes the key.
   * @return true if it was replaced.
   */
  boolean compareSet(String key, byte[] expected, byte[] desired) throws Exception;

  /** Removes a key and returns whether it existed. */
  boolean remove(String key) throws Exception;
}
