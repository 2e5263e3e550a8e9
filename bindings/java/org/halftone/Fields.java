package org.halftone;

import java.util.Arrays;
import java.util.StringJoiner;

/** A structure of settings or results: two are equal if all of their fields are. */
abstract class Fields {
  Fields() {}

  /** Each name, followed by the value. */
  abstract Object[] fields();

  @Override
  public boolean equals(Object other) {
    return other != null && other.getClass() == getClass() && Arrays.deepEquals(fields(), ((Fields) other).fields());
  }

  @Override
  public int hashCode() {
    return Arrays.deepHashCode(fields());
  }

  /** The class and its fields, as a record shows them. */
  @Override
  public String toString() {
    var joined = new StringJoiner(", ", getClass().getSimpleName() + "[", "]");
    Object[] fields = fields();
    for (int i = 0; i < fields.length; i += 2) joined.add(fields[i] + "=" + shown(fields[i + 1]));
    return joined.toString();
  }

  private static String shown(Object value) {
    return value instanceof long[] ? Arrays.toString((long[]) value) : String.valueOf(value);
  }
}
