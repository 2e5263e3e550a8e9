import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The flags of a program: meaning, usual values, and the values of this run. A wrong flag ends the program. */
final class Flags {
  private enum Kind { TEXT, CHOICE, WHOLE, REAL, SWITCH }

  private record Flag(Kind kind, List<String> choices, double least, String usual, String text) {}

  private final Map<String, Flag> known = new LinkedHashMap<>();
  private final Map<String, String> given = new LinkedHashMap<>();
  private final String summary;

  Flags(String summary) {
    this.summary = summary;
  }

  void text(String name, String usual, String text) {
    known.put(name, new Flag(Kind.TEXT, List.of(), 0, usual, text));
  }

  /** The first choice is the usual one. */
  void choice(String name, List<String> choices, String text) {
    known.put(name, new Flag(Kind.CHOICE, choices, 0, choices.get(0), text + ": " + String.join(", ", choices)));
  }

  /** Without a usual value the flag may be absent. */
  void whole(String name, long least, String usual, String text) {
    known.put(name, new Flag(Kind.WHOLE, List.of(), least, usual, text));
  }

  void real(String name, String usual, String text) {
    known.put(name, new Flag(Kind.REAL, List.of(), 0, usual, text));
  }

  void onOff(String name, String text) {
    known.put(name, new Flag(Kind.SWITCH, List.of(), 0, null, text));
  }

  void parse(String[] arguments) {
    for (int i = 0; i < arguments.length; ++i) {
      if (arguments[i].equals("--help")) help();
      Flag flag = known.get(arguments[i]);
      if (flag == null) throw refuse(arguments[i] + ": no such flag; --help tells all");
      boolean hasValue = flag.kind != Kind.SWITCH;
      if (hasValue && i + 1 == arguments.length) throw refuse(arguments[i] + ": needs a value");
      given.put(arguments[i], hasValue ? checked(arguments[i], flag, arguments[i + 1]) : "");
      if (hasValue) ++i;
    }
  }

  private static String checked(String name, Flag flag, String value) {
    boolean isRight = true;
    try {
      if (flag.kind == Kind.CHOICE) isRight = flag.choices.contains(value);
      if (flag.kind == Kind.WHOLE) isRight = Long.parseLong(value) >= flag.least;
      if (flag.kind == Kind.REAL) isRight = Double.isFinite(Double.parseDouble(value));
    } catch (NumberFormatException error) {
      isRight = false;
    }
    if (!isRight) throw refuse(name + " " + value + ": expected " + expected(flag));
    return value;
  }

  private static String expected(Flag flag) {
    if (flag.kind == Kind.CHOICE) return String.join(", ", flag.choices);
    return flag.kind == Kind.REAL ? "a number" : "a whole number of at least " + (long) flag.least;
  }

  private void help() {
    System.out.println(summary);
    known.forEach((name, flag) -> System.out.printf("  %-20s %s%s%n", name, flag.text,
        flag.usual == null ? "" : " (" + flag.usual + ")"));
    System.exit(0);
  }

  /** Prints a message and ends the program. */
  static IllegalStateException refuse(String message) {
    System.err.println(message);
    System.exit(2);
    return new IllegalStateException(message);
  }

  boolean has(String name) {
    return given.containsKey(name);
  }

  String text(String name) {
    return given.getOrDefault(name, known.get(name).usual);
  }

  long whole(String name) {
    return Long.parseLong(text(name));
  }

  double real(String name) {
    return Double.parseDouble(text(name));
  }
}
