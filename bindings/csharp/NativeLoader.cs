using System;
using System.IO;
using System.Reflection;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>
/// Loads libhalftone from beside the assembly, where it is packed. The wrapper names it by its SONAME, which the system
/// would look for in its own folders; a library that is loaded already is taken instead. Where none is packed, the
/// system searches.
/// </summary>
static class NativeLoader {
  private const int ResolveNow = 2;

  [DllImport("libdl.so.2", EntryPoint = "dlopen")]
  private static extern IntPtr Open(string path, int flags);

  static NativeLoader() {
    string folder = Path.GetDirectoryName(Assembly.GetExecutingAssembly().Location);
    string path = Path.Combine(folder, "libhalftone.so");
    if (File.Exists(path)) Open(path, ResolveNow);
  }

  /// <summary>Returns after the library was loaded; any thread, any number of times.</summary>
  internal static void Load() {}
}

}
