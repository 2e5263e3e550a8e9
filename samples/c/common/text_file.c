#include "text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "regular_file.h"

static const char kExpected[] = "expected a text; samples/data/make_text writes build/data/bible-kjv.txt";

/* Reads the first `size` bytes. */
static bool read_bytes(const char* path, unsigned char* bytes, int64_t size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    print_error("--text %s: %s; %s", path, strerror(errno), kExpected);
    return false;
  }
  const size_t count = fread(bytes, 1, (size_t)size, file);
  fclose(file);
  if (count == (size_t)size) return true;
  print_error("--text %s: ends after %zu bytes; expected %lld", path, count, (long long)size);
  return false;
}

/* Makes a tensor that owns the file's bytes. */
static bool read_text(htone_device* device, const char* path, int64_t* out_size, htone_tensor** out) {
  if (!regular_file_check("--text ", path, kExpected, out_size)) return false;
  unsigned char* bytes = malloc((size_t)*out_size);
  if (bytes == NULL) {
    print_error("--text %s: its %lld bytes need more memory than there is", path, (long long)*out_size);
    return false;
  }
  const bool done = read_bytes(path, bytes, *out_size) &&
                    ok(htone_tensor_from_buffer(device, HTONE_U8, 1, out_size, bytes, free, bytes, out));
  if (!done) free(bytes);
  return done;
}

bool text_file_load(htone_device* device, const char* path, htone_tensor** out_training,
                    htone_tensor** out_validation) {
  int64_t size;
  htone_tensor* text;
  if (!read_text(device, path, &size, &text)) return false;
  const int64_t cut = size - size / 10;
  const bool done =
      ok(htone_slice(text, 0, 0, cut, 1, out_training)) && ok(htone_slice(text, 0, cut, size, 1, out_validation));
  htone_tensor_release(text);
  return done;
}
