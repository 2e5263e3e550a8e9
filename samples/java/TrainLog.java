import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** One JSON object per step. Its lines are complete whenever the program ends. */
final class TrainLog {
  /** The numbers of a step. */
  static final class Row {
    long step;
    double loss;
    double lr;
    double lossScale;
    String outcome;
    double gradNorm;
    double itemsPerSecond;
  }

  private final Path path;

  /** A null path means no log. A run that goes on keeps the lines of the steps that it has done. */
  TrainLog(String path, long stepsDone) throws IOException {
    this.path = path == null ? null : Path.of(path);
    if (path == null) return;
    List<String> lines = stepsDone > 0 && Files.exists(this.path) ? Files.readAllLines(this.path) : List.of();
    Files.write(this.path, lines.subList(0, (int) Math.min(stepsDone, lines.size())));
  }

  boolean isOpen() {
    return path != null;
  }

  void write(Row row) throws IOException {
    if (path == null) return;
    String line = String.format("{\"step\": %d, \"loss\": %s, \"lr\": %s, \"loss_scale\": %s, \"outcome\": \"%s\", "
        + "\"grad_norm\": %s, \"items_per_second\": %s}%n", row.step, rounded(row.loss), number(row.lr),
        number(row.lossScale), row.outcome, number(row.gradNorm), rounded(row.itemsPerSecond));
    Files.writeString(path, line, StandardOpenOption.APPEND);
  }

  /** Nine digits tell an FP32 value exactly, as the C sample writes it. */
  private static String rounded(double value) {
    if (!Double.isFinite(value)) return "null";
    return new BigDecimal(value).round(new MathContext(9, RoundingMode.HALF_EVEN)).toString();
  }

  /** JSON has no NaN and no infinity. */
  private static String number(double value) {
    return Double.isFinite(value) ? Double.toString(value) : "null";
  }
}
