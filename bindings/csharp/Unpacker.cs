using System;
using System.Linq;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>Copies a result, which begins with its length, from native memory that the next call overwrites.</summary>
class Unpacker {
  private readonly byte[] content;
  private int at;

  internal Unpacker(IntPtr packed) { content = Bytes(packed); }

  internal long Integer() {
    long value = BitConverter.ToInt64(content, at);
    at += sizeof(long);
    return value;
  }

  internal double Real() { return BitConverter.Int64BitsToDouble(Integer()); }

  internal string Text() { return System.Text.Encoding.UTF8.GetString(Bytes()); }

  internal byte[] Bytes() {
    var bytes = new byte[Integer()];
    Array.Copy(content, at, bytes, 0, bytes.Length);
    at += bytes.Length;
    return bytes;
  }

  internal long[] Integers() { return Enumerable.Range(0, (int)Integer()).Select(_ => Integer()).ToArray(); }

  internal static byte[] Bytes(IntPtr packed) {
    var bytes = new byte[Marshal.ReadInt64(packed)];
    Marshal.Copy(packed + sizeof(long), bytes, 0, bytes.Length);
    return bytes;
  }

  internal static string Text(IntPtr packed) { return System.Text.Encoding.UTF8.GetString(Bytes(packed)); }

  internal static long[] Integers(IntPtr packed) {
    var values = new long[Marshal.ReadInt64(packed)];
    Marshal.Copy(packed + sizeof(long), values, 0, values.Length);
    return values;
  }

  internal static IntPtr[] Handles(IntPtr packed) { return Array.ConvertAll(Integers(packed), value => (IntPtr)value); }
}

}
