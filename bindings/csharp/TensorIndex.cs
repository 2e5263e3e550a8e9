using System;
using System.Linq;
using System.Runtime.CompilerServices;

namespace Halftone {

/// <summary>What an indexer of a Tensor selects of a dimension. An integer is one, negative from the end.</summary>
public struct TensorIndex {
  internal enum Kinds { Part, Position, NewDimension, Rest }

  internal Kinds Kind { get; private set; }
  internal long? Start { get; private set; }
  internal long? Stop { get; private set; }
  internal long? Step { get; private set; }

  /// <summary>The whole dimension.</summary>
  public static TensorIndex Colon => new TensorIndex();

  /// <summary>As many whole dimensions as the other indices leave.</summary>
  public static TensorIndex Ellipsis => new TensorIndex { Kind = Kinds.Rest };

  /// <summary>A new dimension of size 1.</summary>
  public static TensorIndex None => new TensorIndex { Kind = Kinds.NewDimension };

  /// <summary>
  /// Every step-th position from start to before stop, both negative from the end; null is the beginning or the end.
  /// </summary>
  public static TensorIndex Slice(long? start = null, long? stop = null, long step = 1) {
    return new TensorIndex { Start = start, Stop = stop, Step = step };
  }

  /// <summary>One position, whose dimension is left out.</summary>
  public static implicit operator TensorIndex(long position) {
    return new TensorIndex { Kind = Kinds.Position, Start = position };
  }
}

/// <summary>Indexers: x[0], x[TensorIndex.Ellipsis, -1], x[TensorIndex.Slice(1, 3)], x[mask].</summary>
public sealed partial class Tensor {
  /// <summary>
  /// A view of a part. Setting it copies a tensor, which may broadcast, into the part; x[0].Fill(1) sets a number.
  /// </summary>
  [IndexerName("Elements")]  // there is a method Item
  public Tensor this[params TensorIndex[] indices] {
    get { return Part(indices); }
    set {
      using (var part = Part(indices))
      using (var whole = Packer.Required(value, nameof(value)).BroadcastTo(part.Shape)) {
        part.CopyFrom(whole);
      }
    }
  }

  /// <summary>
  /// A copy of the rows at integer indices, or of the elements where a mask of this shape is true, in one dimension.
  /// Setting it copies one element to all places where a mask is true.
  /// </summary>
  [IndexerName("Elements")]
  public Tensor this[Tensor selected] {
    get {
      if (Packer.Required(selected, nameof(selected)).Dtype != Halftone.Dtype.Bool) return IndexSelect(0, selected);
      RequireMask(selected);
      using (var flat = Reshape(-1))
      using (var mask = selected.Reshape(-1))
      using (var rows = mask.Nonzero())
      using (var positions = rows.Reshape(-1)) {
        return flat.IndexSelect(0, positions);
      }
    }
    set {
      RequireMask(Packer.Required(selected, nameof(selected)));
      if (Packer.Required(value, nameof(value)).Numel != 1) {
        throw new ArgumentException($"one element is set where a mask is true, not {value.Numel}", nameof(value));
      }
      using (var one = value.Reshape())
      using (var converted = one.Cast(Dtype))
      using (var changed = Ops.Where(selected, converted, this)) {
        CopyFrom(changed);
      }
    }
  }

  private void RequireMask(Tensor mask) {
    if (mask.Dtype == Halftone.Dtype.Bool && mask.Shape.SequenceEqual(Shape)) return;
    throw new ArgumentException($"expected a mask of Bool [{string.Join(", ", Shape)}], got {mask.Dtype} " +
                                $"[{string.Join(", ", mask.Shape)}]", "selected");
  }

  private Tensor Part(TensorIndex[] indices) {
    Packer.Required(indices, nameof(indices));
    int rank = Shape.Length;
    int named = indices.Count(one => one.Kind == TensorIndex.Kinds.Part || one.Kind == TensorIndex.Kinds.Position);
    if (named > rank) throw new IndexOutOfRangeException($"{named} indices for {rank} dimensions");
    if (indices.Count(one => one.Kind == TensorIndex.Kinds.Rest) > 1) {
      throw new ArgumentException("more than one Ellipsis", nameof(indices));
    }
    Tensor part = this;
    long dim = 0;
    foreach (var index in indices) {
      if (index.Kind == TensorIndex.Kinds.Rest) {
        dim += rank - named;
        continue;
      }
      var next = part.Along(dim, index);
      if (part != this) part.Dispose();
      part = next;
      if (index.Kind != TensorIndex.Kinds.Position) ++dim;
    }
    return part == this ? Reshape(Shape) : part;
  }

  private Tensor Along(long dim, TensorIndex index) {
    if (index.Kind == TensorIndex.Kinds.NewDimension) return Unsqueeze(dim);
    if (index.Kind == TensorIndex.Kinds.Part) {
      return Slice(dim, index.Start ?? 0, index.Stop ?? long.MaxValue, index.Step ?? 1);
    }
    long size = Shape[dim], position = index.Start.Value;
    if (position < -size || position >= size) {
      throw new IndexOutOfRangeException($"index {position} of dimension {dim}, whose size is {size}");
    }
    if (position < 0) position += size;
    using (var row = Slice(dim, position, position + 1)) return row.Squeeze(dim);
  }
}

}
