/* A GPT: GPT-2's architecture in any size. */
#ifndef SAMPLES_GPT_MODEL_H
#define SAMPLES_GPT_MODEL_H

#include <stdbool.h>

#include "halftone/halftone.h"

typedef struct gpt_shape {
  int64_t vocabulary; /* may be larger than that of the text: the rest never occurs */
  int64_t context;
  int64_t layers;
  int64_t width;
  int64_t heads; /* divides width */
} gpt_shape;

/* Makes the model. The caller releases *out. Prints one line and returns false on failure. */
bool gpt_model_create(htone_device* device, const gpt_shape* shape, htone_module** out);

/* Returns the floating-point operations of one training step per token: those of the matrix products of forward and
 * backward. Attention counts the half that the causal mask leaves. */
double gpt_model_flops_per_token(const gpt_shape* shape);

#endif
