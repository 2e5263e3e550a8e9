/* The networks that the sample trains, from images of bytes to one number a class. */
#ifndef SAMPLES_FASHION_MODEL_H
#define SAMPLES_FASHION_MODEL_H

#include <stdbool.h>

#include "halftone/halftone.h"

/* Convolutions and two linear layers, or three linear layers alone. The caller releases *out. Prints one line and
 * answers false on failure. */
bool fashion_model_create(htone_device* device, bool cnn, htone_module** out);

#endif
