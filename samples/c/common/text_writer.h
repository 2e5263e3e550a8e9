/* Lets a GPT write text, byte by byte. One thread. */
#ifndef SAMPLES_TEXT_WRITER_H
#define SAMPLES_TEXT_WRITER_H

#include <stdbool.h>

#include "gpt_model.h"

typedef struct writing_options {
  int64_t length;     /* bytes to write */
  double temperature; /* 0: the most probable byte each time */
  int64_t top_k;      /* 1 to kByteCount */
  double top_p;       /* in (0, 1] */
} writing_options;

/* Prints text that begins after a line's end, drawn with the random numbers of the device's context. Control characters
 * appear as '?'. Ends early at a stop signal. Prints one line and returns false on failure. */
bool text_writer_print(htone_module* model, htone_autocast_policy* policy, htone_device* device, int64_t context,
                       const writing_options* options);

#endif
