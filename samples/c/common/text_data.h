/* A text as batches of windows of bytes. Its last tenth is held out for validation. As in all samples, functions print
 * one line and return false on failure. */
#ifndef SAMPLES_TEXT_DATA_H
#define SAMPLES_TEXT_DATA_H

#include "trainer.h"

#define TEXT_FILE "build/data/bible-kjv.txt"

/* The batches have tokens [batch, context] and the tokens that follow them, both i32. */
typedef struct text_data {
  int64_t training_tokens;
  htone_batches* training;   /* windows that do not overlap, in a new random order each epoch */
  htone_batches* validation; /* windows of the held-out text, in order */
  int64_t validation_batches;
} text_data;

/* Reads a file, and makes its batches and t->sampler. */
bool text_data_open(trainer* t, const char* path, int64_t context, text_data* out);

/* Makes batches of windows over a tensor of training text, and t->sampler. */
bool text_data_batch(trainer* t, htone_tensor* text, int64_t context, htone_batches** out);

#endif
