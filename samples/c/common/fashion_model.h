/* The networks that the sample trains, from images of bytes to one logit per class. */
#ifndef SAMPLES_FASHION_MODEL_H
#define SAMPLES_FASHION_MODEL_H

#include <stdbool.h>

#include "halftone/halftone.h"

/* Makes convolutions and two linear layers, or only three linear layers. The caller releases *out. Prints one line and
 * returns false on failure. */
bool fashion_model_create(htone_device* device, bool cnn, htone_module** out);

#endif
