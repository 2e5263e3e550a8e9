/* Error messages of the samples: one line on standard error. Never exits, so callers can release their objects. One
 * thread. */
#ifndef SAMPLES_FAILURE_H
#define SAMPLES_FAILURE_H

#include <stdbool.h>

#include "halftone/halftone.h"

/* Returns whether a call of the library succeeded; if not, prints the library's message. */
bool ok(htone_status status);

/* Prints "error: " and the message, formatted as by printf, in one line. */
void print_error(const char* format, ...);

#endif
