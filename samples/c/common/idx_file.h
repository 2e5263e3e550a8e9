/* Reads the gzip-compressed IDX files of MNIST and similar data sets: a magic number with element type and number of
 * dimensions, the sizes as big-endian 32-bit numbers, then the elements. Supports only bytes as elements. Any
 * thread. */
#ifndef SAMPLES_IDX_FILE_H
#define SAMPLES_IDX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { kIdxMaxNdim = 3 };

typedef struct idx_array {
  int32_t ndim;
  int64_t shape[kIdxMaxNdim];
  size_t size;    /* product of the shape, at least 1 */
  uint8_t* bytes; /* [size], row-major; owned, release with free */
} idx_array;

/* Reads a file of bytes in `ndim` dimensions, none of them 0. If the file is anything else, prints one line, returns
 * false and leaves *out unchanged. No file makes it allocate more than 1 GiB. */
bool idx_file_read(const char* path, int32_t ndim, idx_array* out);

#endif
