/* GPT-2 in double precision as plain loops: loss and gradients, written without the library. */
#ifndef HALFTONE_TESTS_CAPI_GPT_REFERENCE_H
#define HALFTONE_TESTS_CAPI_GPT_REFERENCE_H

#include <stddef.h>

typedef struct GptSizes {
  int batch, time, vocabulary, positions, layers, width, heads;
} GptSizes;

/* The number of parameters: wte, wpe, then of each block ln_1, c_attn, c_proj, ln_2, c_fc, c_proj (weight [out, in] and
 * bias each), then ln_f.
 */
size_t gpt_parameter_count(GptSizes sizes);

/* Returns the mean cross entropy over all positions, and writes the gradients of all parameters. */
double gpt_loss(GptSizes sizes, const double* parameters, const int* tokens, const int* targets, double* gradients);

#endif
