#define _POSIX_C_SOURCE 200809L
#include "idx_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "failure.h"

/* What a header may ask for; Fashion-MNIST's largest file has 45 MiB. */
static const uint64_t kMaxSize = (uint64_t)1 << 30;

/* Type 8, unsigned bytes, in the third byte of the magic number; the number of dimensions in the fourth. */
enum { kUnsignedBytes = 0x0800 };

/* Looks before opening: opening a FIFO would wait for a writer, and zlib passes what is not gzip through as it is. */
static bool is_regular_file(const char* path) {
  struct stat status;
  if (stat(path, &status) != 0) {
    print_error("%s: %s; expected a gzip-compressed IDX file", path, strerror(errno));
  } else if (!S_ISREG(status.st_mode)) {
    print_error("%s: is %s; expected a gzip-compressed IDX file", path,
                S_ISDIR(status.st_mode) ? "a directory" : "no regular file");
  } else if (status.st_size == 0) {
    print_error("%s: is empty; expected a gzip-compressed IDX file", path);
  } else {
    return true;
  }
  return false;
}

static void print_unpacking_error(gzFile file, const char* path) {
  int code = Z_OK;
  const char* message = gzerror(file, &code);
  print_error("%s: cannot be unpacked: %s", path, code == Z_ERRNO ? strerror(errno) : message);
}

/* Reads exactly `size` bytes. */
static bool read_exactly(gzFile file, const char* path, void* bytes, size_t size, const char* what) {
  const int count = gzread(file, bytes, (unsigned)size);
  if (count >= 0 && (size_t)count == size) return true;
  if (count < 0) {
    print_unpacking_error(file, path);
  } else {
    print_error("%s: ends after %d bytes of the %s; expected %zu", path, count, what, size);
  }
  return false;
}

static uint32_t big_endian(const uint8_t* bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

static bool read_magic(gzFile file, const char* path, int32_t ndim) {
  uint8_t bytes[4];
  if (!read_exactly(file, path, bytes, sizeof bytes, "magic number")) return false;
  const uint32_t expected = kUnsignedBytes + (uint32_t)ndim;
  if (big_endian(bytes) == expected) return true;
  print_error("%s: begins with 0x%08x; expected 0x%08x, an IDX file of bytes in %d dimension%s", path,
              (unsigned)big_endian(bytes), (unsigned)expected, (int)ndim, ndim == 1 ? "" : "s");
  return false;
}

static bool read_shape(gzFile file, const char* path, idx_array* array) {
  uint8_t bytes[4 * kIdxMaxNdim];
  if (!read_exactly(file, path, bytes, 4 * (size_t)array->ndim, "sizes")) return false;
  uint64_t size = 1;
  for (int32_t i = 0; i < array->ndim; ++i) {
    array->shape[i] = big_endian(bytes + 4 * i);
    size *= (uint64_t)array->shape[i]; /* at most 2^30 times 2^32: cannot wrap */
    if (size == 0 || size > kMaxSize) {
      print_error("%s: dimension %d of %lld is out of range; expected 1 to %llu elements in all", path, (int)i,
                  (long long)array->shape[i], (unsigned long long)kMaxSize);
      return false;
    }
  }
  array->size = (size_t)size;
  return true;
}

/* Reads the elements and sees that nothing follows, which also makes zlib compare the checksum at the end. */
static bool read_elements(gzFile file, const char* path, idx_array* array) {
  array->bytes = malloc(array->size);
  if (array->bytes == NULL) {
    print_error("%s: no memory for %zu bytes", path, array->size);
    return false;
  }
  if (!read_exactly(file, path, array->bytes, array->size, "elements")) return false;
  uint8_t extra;
  const int count = gzread(file, &extra, 1);
  if (count > 0) print_error("%s: goes on after the %zu elements that its header tells of", path, array->size);
  if (count < 0) print_unpacking_error(file, path);
  return count == 0;
}

static bool read_array(gzFile file, const char* path, idx_array* array) {
  return read_magic(file, path, array->ndim) && read_shape(file, path, array) && read_elements(file, path, array);
}

bool idx_file_read(const char* path, int32_t ndim, idx_array* out) {
  if (!is_regular_file(path)) return false;
  gzFile file = gzopen(path, "rb");
  if (file == NULL) {
    print_error("%s: %s", path, errno == 0 ? "no memory" : strerror(errno));
    return false;
  }
  idx_array array = {.ndim = ndim};
  bool done = false;
  if (gzdirect(file)) {
    print_error("%s: is not gzip-compressed; expected a gzip-compressed IDX file", path);
  } else {
    done = read_array(file, path, &array);
  }
  const int closed = gzclose(file);
  if (done && closed != Z_OK) {
    print_error("%s: ends before its checksum", path);
    done = false;
  }
  if (done) {
    *out = array;
  } else {
    free(array.bytes);
  }
  return done;
}
