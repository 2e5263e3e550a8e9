/* Points of a square in four classes, to train on without files. One thread. */
#ifndef SAMPLES_POINTS_H
#define SAMPLES_POINTS_H

#include <stdbool.h>

#include "halftone/halftone.h"

/* Makes shuffled batches of 50 points [50, 2] and their classes [50]. Returns false after an error message. */
bool points_make(htone_device* device, uint32_t seed, htone_batches** out);

#endif
