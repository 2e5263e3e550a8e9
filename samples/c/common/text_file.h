/* A text as tokens, one for each byte, in two parts. */
#ifndef SAMPLES_TEXT_FILE_H
#define SAMPLES_TEXT_FILE_H

#include <stdbool.h>

#include "halftone/halftone.h"

/* Reads a file. Makes tensors of u8: the text, and its last tenth for validation. The caller owns both. Prints one line
 * and returns false on failure. */
bool text_file_load(htone_device* device, const char* path, htone_tensor** out_training, htone_tensor** out_validation);

#endif
