#include "fashion_mnist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "failure.h"

enum { kPathCapacity = 4096, kImageSide = 28, kMaxNdim = 3 };

/* The largest array that a header may ask for; Fashion-MNIST's largest file has 45 MiB. */
static const uint64_t kMaxSize = (uint64_t)1 << 30;

/* Reads the header of an IDX file of bytes: the element type 8 and the number of dimensions, then the sizes, all as
 * big-endian numbers of 32 bits. */
static bool read_header(gzFile file, int32_t ndim, int64_t* shape, uint64_t* out_size) {
  uint8_t bytes[4 + 4 * kMaxNdim];
  const int length = 4 + 4 * ndim;
  *out_size = 1;
  if (gzread(file, bytes, (unsigned)length) != length) return false;
  if (bytes[0] != 0 || bytes[1] != 0 || bytes[2] != 8 || bytes[3] != ndim) return false;
  for (int32_t i = 0; i < ndim; ++i) {
    const uint8_t* size = bytes + 4 + 4 * i;
    shape[i] = (int64_t)size[0] << 24 | (int64_t)size[1] << 16 | (int64_t)size[2] << 8 | (int64_t)size[3];
    *out_size *= (uint64_t)shape[i]; /* at most 2^30 times 2^32, which does not overflow */
    if (*out_size == 0 || *out_size > kMaxSize) return false;
  }
  return true;
}

/* Reads all elements, and makes zlib compare the checksum behind them. */
static bool read_elements(gzFile file, uint8_t* bytes, uint64_t size) {
  int code;
  if (bytes == NULL || gzread(file, bytes, (unsigned)size) != (int)size || gzgetc(file) != -1) return false;
  gzerror(file, &code); /* also of a file that ends before its checksum */
  return code == Z_OK;
}

/* The caller frees *out, also after a failure. */
static bool read_array(const char* path, int32_t ndim, int64_t* shape, uint8_t** out) {
  uint64_t size;
  gzFile file = gzopen(path, "rb");
  if (file == NULL) {
    print_error("%s: %s", path, errno == 0 ? "no memory" : strerror(errno));
    return false;
  }
  const bool done = read_header(file, ndim, shape, &size) && read_elements(file, *out = malloc(size), size);
  gzclose_r(file);
  if (!done) print_error("%s: is no gzip-compressed IDX file of bytes in %d dimensions", path, (int)ndim);
  return done;
}

static bool read_part(const char* directory, const char* part, const char* kind, int32_t ndim, int64_t* shape,
                      uint8_t** out) {
  char path[kPathCapacity];
  const int length = snprintf(path, sizeof path, "%s/%s-%s-idx%d-ubyte.gz", directory, part, kind, (int)ndim);
  if (length < kPathCapacity) return read_array(path, ndim, shape, out);
  print_error("--data: a path of %d bytes is too long", length);
  return false;
}

static bool check_shapes(const char* directory, const int64_t* images, const int64_t* labels) {
  if (images[1] == kImageSide && images[2] == kImageSide && images[0] == labels[0]) return true;
  print_error("%s: holds %lld images of %lld x %lld and %lld labels; expected images of %d x %d, and a label for each",
              directory, (long long)images[0], (long long)images[1], (long long)images[2], (long long)labels[0],
              kImageSide, kImageSide);
  return false;
}

/* Makes a tensor over the bytes, which then owns them: *bytes becomes NULL. */
static bool wrap_bytes(htone_device* device, uint8_t** bytes, int32_t ndim, const int64_t* shape, htone_tensor** out) {
  if (!ok(htone_tensor_from_buffer(device, HTONE_U8, ndim, shape, *bytes, free, *bytes, out))) return false;
  *bytes = NULL;
  return true;
}

bool fashion_mnist_load(htone_device* device, const char* directory, const char* part, htone_tensor** out_images,
                        htone_tensor** out_labels) {
  uint8_t *images = NULL, *labels = NULL;
  int64_t image_sizes[kMaxNdim], count;
  const bool done =
      read_part(directory, part, "images", 3, image_sizes, &images) &&
      read_part(directory, part, "labels", 1, &count, &labels) && check_shapes(directory, image_sizes, &count) &&
      wrap_bytes(device, &images, 4, (int64_t[]){count, 1, kImageSide, kImageSide}, out_images) &&
      wrap_bytes(device, &labels, 1, &count, out_labels) && ok(htone_cast(*out_labels, HTONE_I64, out_labels));
  free(images);
  free(labels);
  return done;
}
