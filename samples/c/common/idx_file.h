/* Reads the gzip-compressed IDX files in which MNIST and its kin come: a magic number that tells element type and
 * number of dimensions, the sizes as big-endian 32-bit numbers, then the elements. Only bytes as elements. Any thread.
 */
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
  uint8_t* bytes; /* [size], row-major; owned, given back by free */
} idx_array;

/* Reads a file that must hold bytes in `ndim` dimensions, none of them 0. Prints one line and answers false where it is
 * anything else; then *out is left as it was. No file makes it take more than 1 GiB.
 */
bool idx_file_read(const char* path, int32_t ndim, idx_array* out);

#endif
