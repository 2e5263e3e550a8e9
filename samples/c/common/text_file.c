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

bool text_file_read(const char* path, text_file* out) {
  int64_t size;
  *out = (text_file){.bytes = NULL};
  if (!regular_file_check("--text ", path, kExpected, &size)) return false;
  out->bytes = malloc((size_t)size);
  if (out->bytes == NULL) {
    print_error("--text %s: its %lld bytes need more memory than there is", path, (long long)size);
    return false;
  }
  out->size = (size_t)size;
  out->training_size = out->size - out->size / 10;
  return read_bytes(path, out->bytes, size);
}

void text_file_free(text_file* text) {
  free(text->bytes);
  *text = (text_file){.bytes = NULL};
}

bool text_tokens(htone_device* device, const byte_pairs* pairs, const unsigned char* bytes, size_t size,
                 htone_tensor** out) {
  int32_t* tokens = malloc((size + 1) * sizeof *tokens);
  if (tokens == NULL) {
    print_error("the tokens of %zu bytes of text need more memory than there is", size);
    return false;
  }
  const int64_t count = (int64_t)byte_pairs_encode(pairs, bytes, size, tokens);
  int32_t* fitting = realloc(tokens, ((size_t)count + 1) * sizeof *tokens);
  if (fitting != NULL) tokens = fitting;
  const bool done = ok(htone_tensor_from_buffer(device, HTONE_I32, 1, &count, tokens, free, tokens, out));
  if (!done) free(tokens);
  return done;
}
