/* A text in two parts: the first nine tenths are for training, the last tenth for validation. As in all samples,
 * functions print one line and return false on failure. */
#ifndef SAMPLES_TEXT_FILE_H
#define SAMPLES_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "byte_pairs.h"
#include "halftone/halftone.h"

typedef struct text_file {
  unsigned char* bytes;
  size_t size;
  size_t training_size;
} text_file;

/* Reads a file. Call text_file_free also after a failure. */
bool text_file_read(const char* path, text_file* out);
void text_file_free(text_file* text);

/* Makes the tokens of a text, [count], i32. The caller owns *out. */
bool text_tokens(htone_device* device, const byte_pairs* pairs, const unsigned char* bytes, size_t size,
                 htone_tensor** out);

#endif
