package org.halftone;

/**
 * A key-value store of the program, such as one over its own connections; {@link Store#fromObject} makes a store of it.
 * Any thread calls the methods, several at once. Keys are text, values are bytes.
 */
public interface StoreFunctions {
  /**
   * Sets a key's value.
   *
   * @param key of the value.
   * @param value the new one.
   * @throws Exception which arrives at the caller of the store
   */
  void set(String key, byte[] value) throws Exception;

  /**
   * Waits until the key exists, at most so long.
   *
   * @param key of the value.
   * @param timeoutSeconds the longest time to wait.
   * @return its value, or null if there is none yet; a java.util.concurrent.TimeoutException says the same.
   * @throws Exception which arrives at the caller of the store
   */
  byte[] get(String key, double timeoutSeconds) throws Exception;

  /**
   * Adds to a counter, a decimal number as text; an absent key counts as 0.
   *
   * @param key of the counter.
   * @param amount to add.
   * @return the sum.
   * @throws Exception which arrives at the caller of the store
   */
  long add(String key, long amount) throws Exception;

  /**
   * Replaces the value if it equals another one, in one step.
   *
   * @param key of the value.
   * @param expected the value that is replaced; null is an absent one.
   * @param desired the new value; null removes the key.
   * @return true if it was replaced.
   * @throws Exception which arrives at the caller of the store
   */
  boolean compareSet(String key, byte[] expected, byte[] desired) throws Exception;

  /**
   * Removes a key.
   *
   * @param key to remove.
   * @return true if it existed.
   * @throws Exception which arrives at the caller of the store
   */
  boolean remove(String key) throws Exception;
}
