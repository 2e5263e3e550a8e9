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
 * unpacked once to a folder of the user's cache that is named by their content. A user without a cache that can be
 * written gets a folder of java.io.tmpdir for this process alone: another user could have prepared a shared one.
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
      System.load(unpacked(cache().resolve(contentName(sums)), Text.of(sums).split("\n")).toString());
    } catch (IOException error) {
      throw new UncheckedIOException("the native libraries of halftone.jar cannot be unpacked", error);
    }
  }

  private static Path unpacked(Path cache, String[] rows) throws IOException {
    try {
      return unpackAll(Files.createDirectories(cache), rows, false);
    } catch (IOException notWritable) {
      try {
        return unpackAll(Files.createTempDirectory("halftone"), rows, true);
      } catch (IOException error) {
        error.addSuppressed(notWritable);
        throw error;
      }
    }
  }

  private static Path unpackAll(Path folder, String[] rows, boolean isTemporary) throws IOException {
    if (isTemporary) folder.toFile().deleteOnExit();  // after its files: the last one registered goes first
    for (String row : rows) {
      Path file = folder.resolve(row.substring(row.lastIndexOf(' ') + 1));
      if (!Files.exists(file)) unpack(file);
      if (isTemporary) file.toFile().deleteOnExit();
    }
    return folder.resolve(WRAPPER);
  }

  private static Path cache() {
    String given = System.getenv("XDG_CACHE_HOME");
    Path root = given == null || given.isEmpty() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(given);
    return root.resolve("halftone").toAbsolutePath();
  }

  /** A file that is complete gets its name at once, so that another process never loads a part of it. */
  private static void unpack(Path file) throws IOException {
    String library = file.getFileName().toString();
    Path part = Files.createTempFile(file.getParent(), library, ".part");
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
