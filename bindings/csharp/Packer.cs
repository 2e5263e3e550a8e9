using System;
using System.IO;
using System.Linq;
using System.Text;

namespace Halftone {

/// <summary>Arguments in the form that swig/csharp/conversions.h and swig/packed.h read.</summary>
sealed class Packer {
  private readonly MemoryStream bytes = new MemoryStream();

  internal void Put(long value) { Append(BitConverter.GetBytes(value)); }

  internal void Put(double value) { Append(BitConverter.GetBytes(value)); }

  internal void Put(string text) {
    var utf8 = Encoding.UTF8.GetBytes(text ?? "");
    Put(utf8.LongLength);
    Append(utf8);
  }

  internal void Put(long[] values) {
    Put(values.LongLength);
    foreach (long value in values) Put(value);
  }

  internal void Put(NativeObject one) { Put(one == null ? 0L : (long)one.Handle); }

  internal byte[] ToArray() { return bytes.ToArray(); }

  private void Append(byte[] more) { bytes.Write(more, 0, more.Length); }

  internal static T Required<T>(T argument, string name) where T : class {
    return argument ?? throw new ArgumentNullException(name);
  }

  /// <summary>UTF-8 that ends with a zero.</summary>
  internal static byte[] Text(string text) { return text == null ? null : Encoding.UTF8.GetBytes(text + "\0"); }

  internal static byte[] Texts(string[] texts, string name) {
    if (texts == null) return null;
    if (texts.Contains(null)) throw new ArgumentNullException(name, "a text of the array is null");
    var packer = new Packer();
    packer.Put(texts.LongLength);
    foreach (string text in texts) packer.Put(text);
    return packer.ToArray();
  }

  internal static byte[] Bytes(byte[] content) {
    if (content == null) return null;
    var packer = new Packer();
    packer.Put(content.LongLength);
    packer.Append(content);
    return packer.ToArray();
  }

  internal static long[] Integers(long[] values) {
    if (values == null) return null;
    var array = new long[values.Length + 1];
    array[0] = values.Length;
    values.CopyTo(array, 1);
    return array;
  }

  internal static long[] Handles(NativeObject[] objects) {
    return objects == null ? null : Integers(objects.Select(one => one == null ? 0L : (long)one.Handle).ToArray());
  }
}

}
