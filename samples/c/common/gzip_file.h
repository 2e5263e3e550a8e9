/* Reads a gzip-compressed file from its beginning to its end, trusting nothing in it. zlib's own file functions are not
 * used: they take a file that is not compressed as it is, and one whose checksum is cut off as whole. One thread a
 * file.
 */
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
  bool ended; /* the checksum was reached, and is right */
  uint8_t input[16384];
} gzip_file;

/* Opens a regular file. As all but closing, prints one line and answers false on failure; then there is nothing to
 * close. */
bool gzip_file_open(gzip_file* gzip, const char* path);

/* Unpacks the next `size` bytes, at most 1 GiB; fewer are a failure, told with `what` they are. */
bool gzip_file_read(gzip_file* gzip, void* bytes, size_t size, const char* what);

/* Sees that nothing but a right checksum is left. */
bool gzip_file_expect_end(gzip_file* gzip);

void gzip_file_close(gzip_file* gzip);

#endif
