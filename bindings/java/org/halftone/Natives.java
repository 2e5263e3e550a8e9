package org.halftone;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.file.FileAlreadyExistsException;
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
  /** In the order of loading: the wrapper finds the library by its SONAME among those that are loaded. */
  private static final String[] LIBRARIES = {"libhalftone.so", WRAPPER};
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
      Path folder = cache().resolve(contentName());
      Files.createDirectories(folder);
      for (String library : LIBRARIES) System.load(unpacked(folder, library).toString());
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
  private static Path unpacked(Path folder, String library) throws IOException {
    Path file = folder.resolve(library);
    if (Files.exists(file)) return file;
    Path part = Files.createTempFile(folder, library, ".part");
    try (InputStream content = Natives.class.getResourceAsStream(resource(library))) {
      Files.copy(content, part, StandardCopyOption.REPLACE_EXISTING);
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (FileAlreadyExistsException another) {
      Files.delete(part);
    }
    return file;
  }

  private static String contentName() throws IOException {
    try (InputStream sums = Natives.class.getResourceAsStream(resource(SUMS))) {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(sums.readAllBytes());
      return String.format("%064x", new BigInteger(1, digest)).substring(0, 16);
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError(impossible);
    }
  }

  private static String resource(String name) {
    return "/org/halftone/natives/linux-x86_64/" + name;
  }
}
