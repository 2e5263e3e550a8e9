/* Reads a gzip file from beginning to end and validates everything. zlib's own file functions are not used, because
 * they accept an uncompressed file, and a file whose checksum is cut off. One thread per file. */
#ifndef SAMPLES_GZIP_FILE_H
#define SAMPLES_GZIP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

typedef struct gzip_file {
  const char* path;
  FILE* file;
  z_stream stream;
  bool ended; /* the checksum was reached and is correct */
  uint8_t input[16384];
} gzip_file;

/* Opens a regular file. Like all functions here except closing, it prints one line and returns false on failure; then
 * there is nothing to close. */
bool gzip_file_open(gzip_file* gzip, const char* path);

/* Decompresses the next `size` bytes, at most 1 GiB. Fewer bytes are an error, whose message names them by `what`. */
bool gzip_file_read(gzip_file* gzip, void* bytes, size_t size, const char* what);

/* Checks that only a correct checksum is left. */
bool gzip_file_expect_end(gzip_file* gzip);

void gzip_file_close(gzip_file* gzip);

#endif
