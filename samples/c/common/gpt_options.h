/* The flags of the sample that trains a GPT. */
#ifndef SAMPLES_GPT_OPTIONS_H
#define SAMPLES_GPT_OPTIONS_H

#include "gpt_model.h"
#include "run_options.h"
#include "text_writer.h"
#include "train_options.h"

typedef struct gpt_options {
  gpt_shape preset; /* of --preset; `shape` has the sizes of the flags, where given */
  gpt_shape shape;
  const char* text;
  int64_t token_count; /* of the text; kByteTokens: its bytes */
  int64_t epochs;
  int64_t batch;
  int64_t accumulate;          /* batches per step */
  const char* recomputed_kind; /* the modules whose forward runs again in backward; NULL: none */
  writing_options writing;
  const char* weights_in;  /* NULL: random initial weights */
  const char* weights_out; /* NULL: none */
  train_options train;
  run_options run;
} gpt_options;

/* The settings of --recompute; the kind is NULL for none. */
typedef struct recompute_choice {
  const char* name;
  const char* kind;
} recompute_choice;
enum { kRecomputeChoices = 3 };
extern const recompute_choice gpt_recompute_choices[kRecomputeChoices];

/* Reads the command line, as flags_parse does. */
bool gpt_options_parse(int argc, char** argv, const char* summary, gpt_options* out, int* out_exit_status);

#endif
