/* The vocabulary of a run: learnt from its text or read from a file. The file is beside the checkpoint, DIR.vocab, and
 * beside exported weights, FILE.vocab. A vocabulary of bytes needs no file. As in all samples, functions print one line
 * and return false on failure. */
#ifndef SAMPLES_GPT_VOCABULARY_H
#define SAMPLES_GPT_VOCABULARY_H

#include "gpt_options.h"
#include "text_file.h"

/* Reads the file of the run that resumes, or of the imported weights; else learns from the text for training. Call
 * byte_pairs_free also after a failure. */
bool gpt_vocabulary_open(byte_pairs* pairs, const gpt_options* options, const text_file* text);

/* Makes the state for the checkpoint, NULL if it needs none; the scope around the call releases it. The process that
 * `compares` refuses a vocabulary that is not that of the checkpoint to resume from. */
bool gpt_vocabulary_state(const byte_pairs* pairs, const gpt_options* options, htone_context* context,
                          htone_device* device, bool compares, htone_state_dict** out);

/* Writes the file beside the checkpoint, unless it was read from there. Call this after the directory of the checkpoint
 * was opened, which refuses one with another run. */
bool gpt_vocabulary_keep(const byte_pairs* pairs, const gpt_options* options);

/* Writes the file beside exported weights. */
bool gpt_vocabulary_export(const byte_pairs* pairs, const gpt_options* options);

#endif
