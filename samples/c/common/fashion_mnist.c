#include "fashion_mnist.h"

#include <stdio.h>
#include <stdlib.h>

#include "failure.h"
#include "idx_file.h"

enum { kPathCapacity = 4096 };

static bool read_part(const char* directory, const char* part, const char* kind, int32_t ndim, char* path,
                      idx_array* out) {
  const int length = snprintf(path, kPathCapacity, "%s/%s-%s-idx%d-ubyte.gz", directory, part, kind, (int)ndim);
  if (length < 0 || length >= kPathCapacity) {
    print_error("a path of %d bytes is too long; expected less than %d: %s", length, kPathCapacity, directory);
    return false;
  }
  return idx_file_read(path, ndim, out);
}

static bool read_images(const char* directory, const char* part, idx_array* out) {
  char path[kPathCapacity];
  if (!read_part(directory, part, "images", 3, path, out)) return false;
  if (out->shape[1] == kImageSide && out->shape[2] == kImageSide) return true;
  print_error("%s: holds images of %lld x %lld; expected %d x %d", path, (long long)out->shape[1],
              (long long)out->shape[2], kImageSide, kImageSide);
  return false;
}

static bool read_labels(const char* directory, const char* part, int64_t count, idx_array* out) {
  char path[kPathCapacity];
  if (!read_part(directory, part, "labels", 1, path, out)) return false;
  if (out->shape[0] != count) {
    print_error("%s: holds %lld labels; expected %lld, one for each image", path, (long long)out->shape[0],
                (long long)count);
    return false;
  }
  for (size_t i = 0; i < out->size; ++i) {
    if (out->bytes[i] >= kClassCount) {
      print_error("%s: label %zu is %d; expected 0 to %d", path, i, out->bytes[i], kClassCount - 1);
      return false;
    }
  }
  return true;
}

/* Makes a tensor over the array's bytes. The tensor then owns them and frees them. */
static bool wrap_bytes(htone_device* device, idx_array* array, int32_t ndim, htone_tensor** out) {
  const int64_t shape[] = {array->shape[0], 1, kImageSide, kImageSide};
  if (!ok(htone_tensor_from_buffer(device, HTONE_U8, ndim, shape, array->bytes, free, array->bytes, out))) {
    return false;
  }
  array->bytes = NULL;
  return true;
}

bool fashion_mnist_load(htone_device* device, const char* directory, const char* part, htone_tensor** out_images,
                        htone_tensor** out_labels) {
  idx_array image_bytes = {.bytes = NULL}, label_bytes = {.bytes = NULL};
  htone_tensor *images = NULL, *labels = NULL;
  const bool done = read_images(directory, part, &image_bytes) &&
                    read_labels(directory, part, image_bytes.shape[0], &label_bytes) &&
                    wrap_bytes(device, &image_bytes, 4, &images) && wrap_bytes(device, &label_bytes, 1, &labels) &&
                    ok(htone_cast(labels, HTONE_I64, out_labels));
  free(image_bytes.bytes);
  free(label_bytes.bytes);
  htone_tensor_release(labels);
  if (done) {
    *out_images = images;
  } else {
    htone_tensor_release(images);
  }
  return done;
}
