/* A GPT's weights as a safetensors file with the names and layouts of GPT-2's published files. Those store the matrices
 * of c_attn, c_fc and c_proj as [in, out]; the library's linear layers have [out, in]. As in all samples, functions
 * print one line and return false on failure. */
#ifndef SAMPLES_GPT_WEIGHTS_H
#define SAMPLES_GPT_WEIGHTS_H

#include <stdbool.h>

#include "halftone/halftone.h"

/* Weights that processes share are gathered. */
bool gpt_weights_write(htone_module* model, htone_context* context, const char* path);

/* Names may begin with "transformer.". Masks and the output layer, which is wte here, are passed over; every other
 * tensor must be one of the model's, and none may be missing. */
bool gpt_weights_read(htone_module* model, htone_device* device, const char* path);

#endif
