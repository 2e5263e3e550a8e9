using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Threading;

namespace Halftone {

/// <summary>
/// Batches of tensors, of windows over tokens, or of a function of the program. One enumeration is one epoch:
/// <c>foreach (var batch in new DataLoader(new SamplerOptions { BatchSize = 64 }, images, labels)) ...</c>
/// </summary>
public sealed class DataLoader : IDisposable, IEnumerable<Tensor[]> {
  private readonly Batches batches;
  private readonly int width;

  private DataLoader(SamplerOptions options, int width, Func<Sampler, Batches> source) {
    Sampler = new Sampler(Packer.Required(options, nameof(options)));
    try {
      batches = source(Sampler);
    } catch {
      Sampler.Dispose();
      throw;
    }
    this.width = width;
  }

  /// <summary>Makes the batches of tensors whose rows belong together.</summary>
  /// <param name="options">of the sampler; its count becomes that of the tensors' rows.</param>
  /// <param name="tensors">of equal length.</param>
  public DataLoader(SamplerOptions options, params Tensor[] tensors)
      : this(Counted(options, Rows(tensors)), tensors.Length, sampler => new Batches(sampler, tensors)) {}

  /// <summary>
  /// Makes the batches of tensors of equal length, in a new random order each epoch; the last one may be smaller.
  /// </summary>
  public DataLoader(long batchSize, params Tensor[] tensors)
      : this(new SamplerOptions { BatchSize = batchSize }, tensors) {}

  /// <summary>Makes batches of windows over tokens: a tensor of them, and one of the tokens that follow each.</summary>
  /// <param name="options">of the sampler; its count becomes that of the windows.</param>
  /// <param name="tokens">of one dimension.</param>
  /// <param name="length">of a window.</param>
  /// <param name="stride">from the beginning of a window to that of the next.</param>
  public static DataLoader Windows(SamplerOptions options, Tensor tokens, long length, long stride) {
    Counted(options, Ops.WindowCount(Packer.Required(tokens, nameof(tokens)).Numel, length, stride));
    return new DataLoader(options, 2, sampler => Batches.Windows(sampler, tokens, length, stride));
  }

  /// <summary>Makes batches that a function fills.</summary>
  /// <param name="device">of the tensors.</param>
  /// <param name="options">of the sampler, with the count of samples.</param>
  /// <param name="loader">fills the rows.</param>
  /// <param name="rows">what a sample is in each tensor.</param>
  public static DataLoader FromFunction(Device device, SamplerOptions options, BatchLoader loader, params Row[] rows) {
    int width = Packer.Required(rows, nameof(rows)).Length;
    return new DataLoader(options, width, sampler => Batches.FromFunction(device, sampler, loader, rows));
  }

  private static SamplerOptions Counted(SamplerOptions options, long count) {
    Packer.Required(options, nameof(options)).Count = count;
    return options;
  }

  private static long Rows(Tensor[] tensors) {
    if (Packer.Required(tensors, nameof(tensors)).Length == 0) {
      throw new ArgumentException("a batch needs at least one tensor", nameof(tensors));
    }
    var shape = Packer.Required(tensors[0], nameof(tensors)).Shape;
    if (shape.Length == 0) throw new ArgumentException("a sample is a row; this has no dimensions", nameof(tensors));
    return shape[0];
  }

  /// <summary>Chooses the samples of the batches; a checkpoint saves its position.</summary>
  public Sampler Sampler { get; }

  /// <summary>The number of batches in an epoch.</summary>
  public long BatchesPerEpoch => Sampler.BatchesPerEpoch();

  /// <summary>The next batch, one tensor of each; after the last batch of an epoch the next epoch begins.</summary>
  public Tensor[] Next() {
    batches.Advance();
    return Enumerable.Range(0, width).Select(index => batches.Tensor(index)).ToArray();
  }

  /// <summary>
  /// The batches of one epoch. Where a task is cancelled, the next batch is an OperationCanceledException.
  /// </summary>
  public IEnumerable<Tensor[]> Epoch(CancellationToken cancellation = default(CancellationToken)) {
    for (long left = BatchesPerEpoch; left > 0; --left) {
      cancellation.ThrowIfCancellationRequested();
      yield return Next();
    }
  }

  /// <summary>Enumerates the batches of one epoch.</summary>
  public IEnumerator<Tensor[]> GetEnumerator() { return Epoch().GetEnumerator(); }

  IEnumerator IEnumerable.GetEnumerator() { return GetEnumerator(); }

  /// <summary>Releases the batches; the tensors stay open.</summary>
  public void Dispose() {
    batches.Dispose();
    Sampler.Dispose();
  }
}

}
