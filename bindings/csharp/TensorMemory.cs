using System;
using System.Buffers;

namespace Halftone {

/// <summary>
/// The memory of a tensor, which it keeps until it is disposed of or collected, and every pin of it is undone. A Memory
/// of it keeps this object.
/// </summary>
sealed unsafe class TensorMemory<T> : MemoryManager<T> where T : struct {
  private readonly IntPtr loan;
  private readonly int length;
  private readonly object counting = new object();
  private int pins;
  private bool isDisposed;
  private bool isReleased;

  internal TensorMemory(IntPtr loan, int length) {
    this.loan = loan;
    this.length = length;
  }

  /// <summary>Releases the memory if Dispose was not called.</summary>
  ~TensorMemory() { Release(); }

  public override Span<T> GetSpan() {
    lock (counting) {
      if (isDisposed) throw new ObjectDisposedException("memory of a tensor");
    }
    return new Span<T>((void*)NativePINVOKE.loan_address(loan), length);
  }

  public override MemoryHandle Pin(int elementIndex = 0) {
    if ((uint)elementIndex > (uint)length) throw new ArgumentOutOfRangeException(nameof(elementIndex));
    lock (counting) {
      if (isDisposed) throw new ObjectDisposedException("memory of a tensor");
      ++pins;
    }
    long size = Tensor.SizeOf<T>();
    return new MemoryHandle((byte*)NativePINVOKE.loan_address(loan) + size * elementIndex, pinnable: this);
  }

  public override void Unpin() {
    lock (counting) {
      if (--pins > 0 || !isDisposed) return;
    }
    Release();
  }

  protected override void Dispose(bool disposing) {
    lock (counting) {
      if (isDisposed) return;
      isDisposed = true;
      if (pins > 0) return;
    }
    Release();
  }

  private void Release() {
    lock (counting) {
      if (isReleased) return;
      isReleased = true;
    }
    NativePINVOKE.end_loan(loan);
    GC.SuppressFinalize(this);
  }
}

}
