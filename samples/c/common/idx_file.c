#include "idx_file.h"

#include <stdlib.h>

#include "failure.h"
#include "gzip_file.h"

/* The largest size that a header may request; Fashion-MNIST's largest file has 45 MiB. */
static const uint64_t kMaxSize = (uint64_t)1 << 30;

/* The third byte of the magic number is the element type, 8 for unsigned bytes; the fourth is the number of
 * dimensions. */
enum { kUnsignedBytes = 0x0800 };

static uint32_t big_endian(const uint8_t* bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

static bool read_magic(gzip_file* gzip, int32_t ndim) {
  uint8_t bytes[4];
  if (!gzip_file_read(gzip, bytes, sizeof bytes, "magic number")) return false;
  const uint32_t expected = kUnsignedBytes + (uint32_t)ndim;
  if (big_endian(bytes) == expected) return true;
  print_error("%s: begins with 0x%08x; expected 0x%08x, an IDX file of bytes in %d dimension%s", gzip->path,
              (unsigned)big_endian(bytes), (unsigned)expected, (int)ndim, ndim == 1 ? "" : "s");
  return false;
}

static bool read_shape(gzip_file* gzip, idx_array* array) {
  uint8_t bytes[4 * kIdxMaxNdim];
  if (!gzip_file_read(gzip, bytes, 4 * (size_t)array->ndim, "sizes")) return false;
  uint64_t size = 1;
  for (int32_t i = 0; i < array->ndim; ++i) {
    array->shape[i] = big_endian(bytes + 4 * i);
    size *= (uint64_t)array->shape[i]; /* at most 2^30 times 2^32, which does not overflow */
    if (size == 0 || size > kMaxSize) {
      print_error("%s: dimension %d of %lld is out of range; expected 1 to %llu elements in all", gzip->path, (int)i,
                  (long long)array->shape[i], (unsigned long long)kMaxSize);
      return false;
    }
  }
  array->size = (size_t)size;
  return true;
}

static bool read_elements(gzip_file* gzip, idx_array* array) {
  array->bytes = malloc(array->size);
  if (array->bytes == NULL) {
    print_error("%s: no memory for %zu bytes", gzip->path, array->size);
    return false;
  }
  return gzip_file_read(gzip, array->bytes, array->size, "elements") && gzip_file_expect_end(gzip);
}

bool idx_file_read(const char* path, int32_t ndim, idx_array* out) {
  gzip_file gzip;
  if (!gzip_file_open(&gzip, path)) return false;
  idx_array array = {.ndim = ndim};
  const bool done = read_magic(&gzip, ndim) && read_shape(&gzip, &array) && read_elements(&gzip, &array);
  gzip_file_close(&gzip);
  if (done) {
    *out = array;
  } else {
    free(array.bytes);
  }
  return done;
}
