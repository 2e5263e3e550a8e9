using System;
using System.Diagnostics;
using Halftone;

/// <summary>As overhead.c, through the C# binding. The argument names the runtime.</summary>
static class Overhead {
  const int Rounds = 400;
  const int Calls = 2000;

  static void Main(string[] arguments) {
    var device = new Device("cpu");
    var a = Tensor.Zeros(device, Dtype.F32, 64, 64);
    var b = Tensor.Zeros(device, Dtype.F32, 64, 64);
    Measure(arguments[0], () => a.Add(b).Dispose());
    Measure(arguments[0] + "-no_grad", () => Ops.NoGrad().Dispose());
  }

  static void Measure(string name, Action run) {
    double least = 1e9;
    for (int round = 0; round < Rounds; ++round) {
      var watch = Stopwatch.StartNew();
      for (int call = 0; call < Calls; ++call) run();
      least = Math.Min(least, watch.Elapsed.TotalMilliseconds * 1e6 / Calls);
    }
    Console.WriteLine("{0}: {1:F0} ns", name, least);
  }
}
