/* Lets a GPT write text, token by token. One thread. */
#ifndef SAMPLES_TEXT_WRITER_H
#define SAMPLES_TEXT_WRITER_H

#include <stdbool.h>

#include "byte_pairs.h"
#include "gpt_model.h"

typedef struct writing_options {
  int64_t length;     /* bytes to write */
  double temperature; /* 0: the most probable token each time */
  int64_t top_k;      /* 0: all tokens */
  double top_p;       /* in (0, 1] */
} writing_options;

/* The model that writes. */
typedef struct text_writer {
  htone_module* model;
  htone_autocast_policy* policy;
  htone_device* device;
  const byte_pairs* pairs; /* the bytes of its tokens */
  int64_t context;
  htone_dtype precision; /* of its keys and values */
} text_writer;

/* Prints text that begins after a line's end, drawn with the random numbers of the device's context. Control characters
 * appear as '?'. Ends early at a stop signal. Prints one line and returns false on failure. */
bool text_writer_print(const text_writer* writer, const writing_options* options);

#endif
