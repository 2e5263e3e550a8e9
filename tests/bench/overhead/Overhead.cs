using System;
using System.Diagnostics;
using Halftone;

/// <summary>As overhead.c, through the C# binding.</summary>
static class Overhead {
  const int Rounds = 400;
  const int Calls = 2000;

  static void Main() {
    var device = new Device("cpu");
    var a = Tensor.Zeros(device, Dtype.F32, 64, 64);
    var b = Tensor.Zeros(device, Dtype.F32, 64, 64);
    double least = 1e9;
    for (int round = 0; round < Rounds; ++round) {
      var watch = Stopwatch.StartNew();
      for (int call = 0; call < Calls; ++call) a.Add(b).Dispose();
      least = Math.Min(least, watch.Elapsed.TotalMilliseconds * 1e6 / Calls);
    }
    Console.WriteLine("C#: {0:F0} ns", least);
  }
}
