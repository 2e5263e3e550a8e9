using System;
using System.IO;
using System.Reflection;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>
/// Loads libhalftone from the folder of the assembly, where a package contains it. The wrapper names the library by its
/// SONAME, which the system would search for in its own folders, but it uses a library that is already loaded. If the
/// folder has no library, the system searches.
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

  /// <summary>Returns after the library was loaded. Any thread may call it, any number of times.</summary>
  internal static void Load() {}
}

}
