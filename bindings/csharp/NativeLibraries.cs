using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;

namespace Halftone {

/// <summary>Says which native library is missing, which the runtimes do not, or not all of them.</summary>
static class NativeLibraries {
  private const string Wrapper = "libhalftone_csharp.so";
  private const int Now = 2;  // RTLD_NOW

  [DllImport("libdl.so.2")]
  private static extern IntPtr dlopen(string path, int flags);

  [DllImport("libdl.so.2")]
  private static extern IntPtr dlerror();

  internal static DllNotFoundException NotFound(DllNotFoundException cause) {
    if (!RuntimeInformation.IsOSPlatform(OSPlatform.Linux)) {
      return new DllNotFoundException("Halftone has native libraries for Linux alone, and this is " +
                                      RuntimeInformation.OSDescription, cause);
    }
    var folders = Folders().Select(folder => folder.TrimEnd('/')).Distinct().ToArray();
    string found = folders.Select(folder => Path.Combine(folder, Wrapper)).FirstOrDefault(File.Exists);
    return new DllNotFoundException(
        found != null ? $"{found} cannot be loaded: {Reason(found)}"
                      : $"{Wrapper} is not in {string.Join(", ", folders)}; the package Halftone has it in " +
                        $"runtimes/{Platform}/native: copy all files of that folder beside the program",
        cause);
  }

  private static string Platform => "linux-" + RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant();

  private static IEnumerable<string> Folders() {
    yield return AppDomain.CurrentDomain.BaseDirectory;
    yield return Path.GetDirectoryName(typeof(NativeLibraries).Assembly.Location);
    yield return Path.Combine(AppDomain.CurrentDomain.BaseDirectory, "runtimes", Platform, "native");
    string listed = Environment.GetEnvironmentVariable("LD_LIBRARY_PATH") ?? "";
    foreach (string folder in listed.Split(new[] {':'}, StringSplitOptions.RemoveEmptyEntries)) yield return folder;
  }

  // The system's loader names the library that it misses, which may be one that the wrapper needs.
  private static string Reason(string path) {
    try {
      dlerror();  // so that the runtime has found it: finding it later would replace the error
      return dlopen(path, Now) != IntPtr.Zero ? "it is not where the runtime looks"
                                              : Marshal.PtrToStringAnsi(dlerror());
    } catch (DllNotFoundException) {
      return "the system's loader does not say why";
    }
  }
}

}
