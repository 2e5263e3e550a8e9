using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;

namespace Halftone {

/// <summary>
/// The batches of tensors of equal length, in a new random order each epoch. One enumeration is one epoch:
/// <c>foreach (var batch in new DataLoader(new SamplerOptions { BatchSize = 64 }, images, labels)) ...</c>
/// </summary>
public sealed class DataLoader : IDisposable, IEnumerable<Tensor[]> {
  private readonly Batches batches;
  private readonly int width;

  /// <summary>Makes the batches of tensors whose rows belong together.</summary>
  /// <param name="options">of the sampler; its count is that of the tensors' rows.</param>
  /// <param name="tensors">of equal length.</param>
  public DataLoader(SamplerOptions options, params Tensor[] tensors) {
    options.Count = tensors[0].Shape[0];
    Sampler = new Sampler(options);
    batches = new Batches(Sampler, tensors);
    width = tensors.Length;
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

  /// <summary>Enumerates the batches of one epoch.</summary>
  public IEnumerator<Tensor[]> GetEnumerator() {
    for (long left = BatchesPerEpoch; left > 0; --left) yield return Next();
  }

  IEnumerator IEnumerable.GetEnumerator() { return GetEnumerator(); }

  /// <summary>Releases the batches; the tensors stay open.</summary>
  public void Dispose() {
    batches.Dispose();
    Sampler.Dispose();
  }
}

}
