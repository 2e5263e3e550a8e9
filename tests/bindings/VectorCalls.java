import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.halftone.Device;
import org.halftone.Halftone;
import org.halftone.Tensor;

/** The operations by their names in the vectors: an argument is the attribute of its name, or else the next input. */
final class VectorCalls {
  /** A list of the vectors is one argument for each side. */
  private static final Map<String, String> SIDES = Map.of("kernel_h", "kernel", "kernel_w", "kernel", "result_h",
      "result", "result_w", "result", "normalized_shape", "shape");

  private final Device device;

  VectorCalls(Device device) {
    this.device = device;
  }

  static double number(Object value) {
    if (value instanceof Number) return ((Number) value).doubleValue();
    String word = (String) value;
    return word.equals("nan") ? Double.NaN : word.equals("inf") ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
  }

  static String camel(String name) {
    StringBuilder made = new StringBuilder();
    for (String word : name.split("_")) {
      made.append(made.length() == 0 ? word : word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1));
    }
    return made.toString();
  }

  private static String snake(String name) {
    return name.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
  }

  /** The results; throws what the library throws. */
  List<Tensor> call(String name, List<Tensor> inputs, Map<String, Object> attributes) throws Exception {
    boolean isInPlace = name.endsWith("_in_place") || name.equals("copy_from");
    if (isInPlace) {
      Tensor.class.getMethod(camel(name), Tensor.class).invoke(inputs.get(0), inputs.get(1));
      return List.of(inputs.get(0).clone());
    }
    Method method = Arrays.stream(Halftone.class.getMethods()).filter(one -> one.getName().equals(camel(name)))
                        .max(Comparator.comparingInt(Method::getParameterCount)).orElseThrow();
    List<Tensor> left = new ArrayList<>(inputs);
    if (name.equals("linear_cross_entropy")) {  // C takes the bias before the targets
      left.add(3, left.remove(2));
    }
    Object[] arguments = new Object[method.getParameterCount()];
    for (int i = 0; i < arguments.length; ++i) {
      arguments[i] = argument(method.getParameters()[i], attributes, left);
    }
    return listOf(method.invoke(null, arguments));
  }

  static Exception unwrapped(InvocationTargetException error) {
    return error.getCause() instanceof Exception ? (Exception) error.getCause() : error;
  }

  private static List<Tensor> listOf(Object made) throws Exception {
    if (made instanceof Tensor) return List.of((Tensor) made);
    if (made instanceof Tensor[]) return Arrays.asList((Tensor[]) made);
    List<Tensor> list = new ArrayList<>();
    for (var part : made.getClass().getRecordComponents()) list.add((Tensor) part.getAccessor().invoke(made));
    return list;
  }

  private Object argument(Parameter parameter, Map<String, Object> attributes, List<Tensor> left) throws Exception {
    Class<?> type = parameter.getType();
    if (type == Device.class) return device;
    if (type == Tensor[].class) return left.toArray(Tensor[]::new);
    if (type == Tensor.class) return left.isEmpty() ? null : left.remove(0);
    if (type.getSimpleName().endsWith("Options")) return options(type, attributes, left);
    return value(snake(parameter.getName()), type, attributes);
  }

  private static Object value(String name, Class<?> type, Map<String, Object> attributes) {
    String given = attributes.containsKey(name) ? name : SIDES.getOrDefault(name, name);
    Object found = attributes.get(given);
    if (type == long[].class) return longs(found);
    if (found instanceof List) {
      List<?> sides = (List<?>) found;
      found = sides.get(name.endsWith("_w") ? sides.size() - 1 : 0);
    }
    return found == null ? usual(name, type) : converted(found, type);
  }

  private static long[] longs(Object list) {
    if (list == null) return new long[0];
    return ((List<?>) list).stream().mapToLong(one -> ((Number) one).longValue()).toArray();
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Object converted(Object value, Class<?> type) {
    if (type.isEnum()) return Enum.valueOf((Class<Enum>) type, ((String) value).toUpperCase(Locale.ROOT));
    if (type == double.class) return number(value);
    if (type == int.class) return ((Number) value).intValue();
    return value;
  }

  /** The value of an argument that a vector leaves out. */
  private static Object usual(String name, Class<?> type) {
    if (type == boolean.class) return false;
    if (type == double.class) return 0.0;
    if (name.equals("ignore_index")) return -100L;
    if (name.equals("padding_index")) return -1L;
    if (type == long.class) return name.equals("step") ? 1L : 0L;
    throw new AssertionError("no value for " + name);
  }

  private static Object options(Class<?> type, Map<String, Object> attributes, List<Tensor> left) throws Exception {
    Object made = type.getConstructor().newInstance();
    for (var field : type.getFields()) {
      String name = snake(field.getName());
      if (field.getType() == Tensor.class && !left.isEmpty()) {
        field.set(made, left.remove(0));
      } else if (attributes.containsKey(name)) {
        field.set(made, converted(attributes.get(name), field.getType()));
      }
    }
    return made;
  }
}
