import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON as maps, lists, strings, booleans, and numbers: a Long, or a Double with a point or an exponent. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  static Object parse(String text) {
    return new Json(text).value();
  }

  private char next() {
    while (Character.isWhitespace(text.charAt(at))) ++at;
    return text.charAt(at);
  }

  private boolean skip(char wanted) {
    if (next() != wanted) return false;
    ++at;
    return true;
  }

  private Object value() {
    char first = next();
    if (first == '{') return object();
    if (first == '[') return array();
    if (first == '"') return string();
    int begin = at;
    while (at < text.length() && ",]} \n".indexOf(text.charAt(at)) < 0) ++at;
    String word = text.substring(begin, at);
    if (word.equals("null")) return null;
    if (word.equals("true") || word.equals("false")) return word.equals("true");
    return word.matches("-?\\d+") ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
  }

  private Map<String, Object> object() {
    Map<String, Object> found = new LinkedHashMap<>();
    ++at;
    while (!skip('}')) {
      skip(',');
      next();
      String name = string();
      skip(':');
      found.put(name, value());
    }
    return found;
  }

  private List<Object> array() {
    List<Object> found = new ArrayList<>();
    ++at;
    while (!skip(']')) {
      skip(',');
      found.add(value());
    }
    return found;
  }

  private String string() {
    StringBuilder made = new StringBuilder();
    for (++at; text.charAt(at) != '"'; ++at) {
      if (text.charAt(at) != '\\') {
        made.append(text.charAt(at));
        continue;
      }
      char escaped = text.charAt(++at);
      if (escaped == 'u') {
        made.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
        at += 4;
      } else {
        made.append(escaped == 'n' ? '\n' : escaped);
      }
    }
    ++at;
    return made.toString();
  }
}
