using System;
using System.Globalization;
using System.IO;
using System.Linq;

/// <summary>One JSON object per step. Its lines are complete whenever the program ends.</summary>
sealed class TrainLog {
  /// <summary>The numbers of a step.</summary>
  internal sealed class Row {
    internal long Step;
    internal double Loss, Lr, LossScale, GradNorm, ItemsPerSecond;
    internal string Outcome;
  }

  readonly string path;

  /// <summary>A null path means no log. A run that goes on keeps the lines of the steps that it has done.</summary>
  internal TrainLog(string path, long stepsDone) {
    this.path = path;
    if (path == null) return;
    var lines = stepsDone > 0 && File.Exists(path) ? File.ReadAllLines(path) : new string[0];
    File.WriteAllLines(path, lines.Take((int)stepsDone));
  }

  internal bool IsOpen => path != null;

  internal void Write(Row row) {
    if (path == null) return;
    // Nine digits tell an FP32 value exactly, as the C sample writes it.
    File.AppendAllText(path, $"{{\"step\": {row.Step}, \"loss\": {Number(row.Loss, "G9")}, " +
                       $"\"lr\": {Number(row.Lr, "R")}, \"loss_scale\": {Number(row.LossScale, "R")}, " +
                       $"\"outcome\": \"{row.Outcome}\", \"grad_norm\": {Number(row.GradNorm, "R")}, " +
                       $"\"items_per_second\": {Number(row.ItemsPerSecond, "G9")}}}\n");
  }

  /// <summary>JSON has no NaN and no infinity.</summary>
  static string Number(double value, string format) {
    if (double.IsNaN(value) || double.IsInfinity(value)) return "null";
    return value.ToString(format, CultureInfo.InvariantCulture);
  }
}
