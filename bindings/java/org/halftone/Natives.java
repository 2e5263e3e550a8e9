package org.halftone;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * Loads the native libraries: from java.library.path if they are there, else from the jar. Those of the jar are
 * unpacked once to a folder of the user's cache that is named by their content.
 */
final class Natives {
  private static final String WRAPPER = "libhalftone_java.so";
  /** Lists the libraries: the wrapper, the library that it finds beside itself, and plugins, which that finds. */
  private static final String SUMS = "natives.sha256";

  private Natives() {}

  static void load() {
    try {
      System.loadLibrary("halftone_java");
    } catch (UnsatisfiedLinkError notInThePath) {
      if (Natives.class.getResource(resource(SUMS)) == null) throw notInThePath;
      loadUnpacked();
    }
  }

  private static void loadUnpacked() {
    try {
      byte[] sums = sums();
      Path folder = cache().resolve(contentName(sums));
      Files.createDirectories(folder);
      for (String row : Text.of(sums).split("\n")) unpack(folder, row.substring(row.lastIndexOf(' ') + 1));
      System.load(folder.resolve(WRAPPER).toString());
    } catch (IOException error) {
      throw new UncheckedIOException("the native libraries of halftone.jar cannot be unpacked", error);
    }
  }

  private static Path cache() {
    String given = System.getenv("XDG_CACHE_HOME");
    Path root = given == null || given.isEmpty() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(given);
    return root.resolve("halftone").toAbsolutePath();
  }

  /** A file that is complete gets its name at once, so that another process never loads a part of it. */
  private static void unpack(Path folder, String library) throws IOException {
    Path file = folder.resolve(library);
    if (Files.exists(file)) return;
    Path part = Files.createTempFile(folder, library, ".part");
    try (InputStream content = Natives.class.getResourceAsStream(resource(library))) {
      Files.copy(content, part, StandardCopyOption.REPLACE_EXISTING);
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  private static byte[] sums() throws IOException {
    try (InputStream sums = Natives.class.getResourceAsStream(resource(SUMS))) {
      return sums.readAllBytes();
    }
  }

  private static String contentName(byte[] sums) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(sums);
      return String.format("%064x", new BigInteger(1, digest)).substring(0, 16);
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError(impossible);
    }
  }

  private static String resource(String name) {
    return "/org/halftone/natives/linux-x86_64/" + name;
  }
}
