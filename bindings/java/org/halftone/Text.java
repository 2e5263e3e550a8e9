package org.halftone;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Text as the library takes it: UTF-8. (JNI's own text is a modified UTF-8.) */
final class Text {
  private Text() {}

  static byte[] bytes(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  static byte[][] bytes(String[] texts) {
    return Arrays.stream(texts).map(Text::bytes).toArray(byte[][]::new);
  }

  static String of(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }
}
